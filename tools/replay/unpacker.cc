#include "tools/replay/unpacker.h"

#include <absl/strings/str_cat.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

namespace vramspan::replay {
namespace {

Status NoMemory() { return absl::ResourceExhaustedError("there is no memory to unpack it"); }

class Gzip final : public Unpacker {
 public:
  // 15 bits of window, and no other format than gzip's.
  bool Init() { return live_ = inflateInit2(&stream_, 15 + 16) == Z_OK; }
  ~Gzip() override {
    if (live_) inflateEnd(&stream_);
  }

  StatusOr<size_t> Run(std::string_view* in, absl::Span<char> out) override {
    if (between_ && in->empty()) return 0;
    if (between_ && inflateReset(&stream_) != Z_OK) return absl::InternalError("inflateReset");
    between_ = false;
    // zlib does not write there.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in->data()));
    stream_.avail_in = static_cast<uInt>(in->size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int code = inflate(&stream_, Z_NO_FLUSH);
    in->remove_prefix(in->size() - stream_.avail_in);
    if (code == Z_MEM_ERROR) return NoMemory();
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
      return absl::DataLossError(stream_.msg != nullptr ? stream_.msg : "its data are damaged");
    }
    between_ = code == Z_STREAM_END;
    return out.size() - stream_.avail_out;
  }

 private:
  z_stream stream_{};
  bool live_ = false;
};

class Zstd final : public Unpacker {
 public:
  Zstd() : stream_(ZSTD_createDStream()) {}
  bool Init() { return stream_ != nullptr; }
  ~Zstd() override { ZSTD_freeDStream(stream_); }

  StatusOr<size_t> Run(std::string_view* in, absl::Span<char> out) override {
    if (between_ && in->empty()) return 0;
    ZSTD_inBuffer from{in->data(), in->size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const size_t hint = ZSTD_decompressStream(stream_, &to, &from);
    in->remove_prefix(from.pos);
    if (ZSTD_isError(hint) != 0) {
      if (ZSTD_getErrorCode(hint) == ZSTD_error_memory_allocation) return NoMemory();
      if (ZSTD_getErrorCode(hint) == ZSTD_error_frameParameter_windowTooLarge) {
        return absl::FailedPreconditionError(
            "it was packed with a window of more than 128 MiB (zstd --long); unpack it first (zstd "
            "-dc --long=31)");
      }
      return absl::DataLossError(ZSTD_getErrorName(hint));
    }
    between_ = hint == 0;
    return to.pos;
  }

 private:
  ZSTD_DStream* const stream_;
};

template <typename T>
StatusOr<std::unique_ptr<Unpacker>> Made() {
  auto made = std::make_unique<T>();
  if (!made->Init()) return NoMemory();
  return made;
}

}  // namespace

StatusOr<std::unique_ptr<Unpacker>> Unpacker::Make(Packing packing) {
  return packing == Packing::kGzip ? Made<Gzip>() : Made<Zstd>();
}

}  // namespace vramspan::replay
