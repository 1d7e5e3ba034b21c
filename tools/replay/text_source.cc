#include "tools/replay/text_source.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

namespace vramspan::replay {
namespace {

constexpr size_t kBuffer = 64 << 10;
// What people pack is text, of which a hundredth is little; a packed file may claim a thousand
// times its size.
constexpr uint64_t kMostUnpacked = 64 << 20;
constexpr uint64_t kMostUnpackedOfByte = 100;

struct CloseGz {
  void operator()(gzFile file) const { gzclose_r(file); }
};
using Gz = std::unique_ptr<gzFile_s, CloseGz>;

// zlib reads files that are not packed as they are.
class GzSource final : public TextSource {
 public:
  GzSource(Gz file, std::string path, uint64_t most)
      : file_(std::move(file)),
        path_(std::move(path)),
        left_(most),
        most_(most),
        buffer_(kBuffer) {}

  const Status& status() const override { return status_; }

 protected:
  int_type underflow() override {
    if (!status_.ok()) return traits_type::eof();
    const int got = gzread(file_.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
    int code = Z_OK;
    const char* const message = gzerror(file_.get(), &code);
    // A packed file that ends early is an error of the buffer, and has given all that it has.
    if (got < 0 || (got == 0 && code != Z_OK && code != Z_STREAM_END)) {
      status_ = absl::DataLossError(absl::StrCat(path_, ": cannot be unpacked: ",
                                                 code == Z_ERRNO       ? std::strerror(errno)
                                                 : code == Z_BUF_ERROR ? "it is cut short"
                                                                       : message));
      return traits_type::eof();
    }
    if (got == 0) return traits_type::eof();
    if (static_cast<uint64_t>(got) > left_) {
      status_ = absl::ResourceExhaustedError(absl::StrCat(
          path_, ": is longer than ", most_, " bytes, which is all that is read of such a file"));
      return traits_type::eof();
    }
    left_ -= static_cast<uint64_t>(got);
    setg(buffer_.data(), buffer_.data(), buffer_.data() + got);
    return traits_type::to_int_type(buffer_.front());
  }

 private:
  Gz file_;
  const std::string path_;
  uint64_t left_;
  const uint64_t most_;
  std::vector<char> buffer_;
  Status status_;
};

}  // namespace

StatusOr<std::unique_ptr<TextSource>> TextSource::Open(const std::string& path, uint64_t most) {
  const auto failed = [&](int error) {
    const std::string why = absl::StrCat("cannot read ", path, ": ", std::strerror(error));
    return error == ENOENT ? absl::NotFoundError(why) : absl::FailedPreconditionError(why);
  };
  // A pipe without a writer must not hold us up.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return failed(errno);
  struct stat file {};
  const int error = fstat(fd, &file) != 0 ? errno : S_ISDIR(file.st_mode) ? EISDIR : 0;
  if (error == 0 && !S_ISREG(file.st_mode)) {
    close(fd);
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot read ", path, ": it is a pipe or a device; a trace is read from a file"));
  }
  if (error == 0) {
    most = std::min(
        most, std::max(static_cast<uint64_t>(file.st_size),
                       kMostUnpacked + kMostUnpackedOfByte * static_cast<uint64_t>(file.st_size)));
  }
  Gz packed(error == 0 ? gzdopen(fd, "rb") : nullptr);
  if (packed != nullptr) return std::make_unique<GzSource>(std::move(packed), path, most);
  close(fd);
  return failed(error == 0 ? ENOMEM : error);
}

}  // namespace vramspan::replay
