#include "tools/replay/text_source.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "tools/replay/unpacker.h"

namespace vramspan::replay {
namespace {

constexpr size_t kReadAtOnce = 64 << 10;
// What people pack is text, of which a hundredth is little; a packed file may claim a thousand
// times its size.
constexpr uint64_t kMostUnpacked = 64 << 20;
constexpr uint64_t kMostUnpackedOfByte = 100;

// A file's bytes in order.
class InputFile {
 public:
  explicit InputFile(int fd) : fd_(fd), buffer_(kReadAtOnce) {}
  ~InputFile() { close(fd_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Of what was read and not taken, `count` bytes or all that there are; errno's number for what
  // cannot be read.
  int Have(size_t count) {
    while (rest_.size() < count && !ended_) {
      if (!rest_.empty()) std::memmove(buffer_.data(), rest_.data(), rest_.size());
      rest_ = std::string_view(buffer_.data(), rest_.size());
      const ssize_t got = read(fd_, buffer_.data() + rest_.size(), buffer_.size() - rest_.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno;
      ended_ = got == 0;
      rest_ = std::string_view(buffer_.data(), rest_.size() + static_cast<size_t>(got));
    }
    return 0;
  }
  std::string_view* rest() { return &rest_; }

 private:
  const int fd_;
  std::vector<char> buffer_;
  std::string_view rest_;
  bool ended_ = false;
};

class Source : public TextSource {
 public:
  Source(std::unique_ptr<InputFile> file, std::string path, uint64_t most, Packing packing)
      : packing_(packing),
        file_(std::move(file)),
        path_(std::move(path)),
        left_(most),
        most_(most) {}

  const Status& status() const final { return status_; }
  const std::string& loss() const final { return loss_; }
  Packing packing() const final { return packing_; }

 protected:
  int_type underflow() final {
    if (!status_.ok()) return traits_type::eof();
    const StatusOr<absl::Span<char>> next = Next();
    if (!next.ok()) return Fail(next.status());
    if (next->empty()) return traits_type::eof();
    if (next->size() > left_) {
      return Fail(absl::ResourceExhaustedError(absl::StrCat(
          "it is longer than ", most_, " bytes, the most that is read of such a file")));
    }
    left_ -= next->size();
    setg(next->data(), next->data(), next->data() + next->size());
    return traits_type::to_int_type(next->front());
  }

  // The bytes that follow, valid until the next call; none at the end.
  virtual StatusOr<absl::Span<char>> Next() = 0;

  Status Have(size_t count) {
    const int error = file_->Have(count);
    return error == 0
               ? absl::OkStatus()
               : absl::DataLossError(absl::StrCat("it cannot be read: ", std::strerror(error)));
  }
  std::string_view* rest() { return file_->rest(); }

  const Packing packing_;
  std::string loss_;

 private:
  int_type Fail(const Status& why) {
    status_ = Status(why.code(), absl::StrCat(path_, ": ", why.message()));
    return traits_type::eof();
  }

  const std::unique_ptr<InputFile> file_;
  const std::string path_;
  uint64_t left_;
  const uint64_t most_;
  Status status_;
};

class PlainSource final : public Source {
 public:
  using Source::Source;

 protected:
  StatusOr<absl::Span<char>> Next() override {
    VS_RETURN_IF_ERROR(Have(1));
    const std::string_view all = std::exchange(*rest(), {});
    // A stream's buffer is one that could be written to.
    return absl::MakeSpan(const_cast<char*>(all.data()), all.size());
  }
};

class PackedSource final : public Source {
 public:
  PackedSource(std::unique_ptr<InputFile> file, std::string path, uint64_t most, Packing packing,
               std::unique_ptr<Unpacker> unpacker)
      : Source(std::move(file), std::move(path), most, packing),
        unpacker_(std::move(unpacker)),
        out_(kReadAtOnce) {}

 protected:
  StatusOr<absl::Span<char>> Next() override {
    while (!ended_) {
      VS_RETURN_IF_ERROR(Have(unpacker_->between() ? kPackingBytes : 1));
      if (unpacker_->between() && PackingOf(*rest()) != packing_) {
        VS_RETURN_IF_ERROR(PassOver());
        break;
      }
      const size_t before = rest()->size();
      const StatusOr<size_t> made = unpacker_->Run(rest(), absl::MakeSpan(out_));
      if (!made.ok()) {
        return Status(made.status().code(),
                      absl::StrCat("it cannot be unpacked: ", made.status().message()));
      }
      if (*made != 0) return absl::MakeSpan(out_).first(*made);
      if (before == 0) {
        loss_ = absl::StrCat("its ", PackingName(packing_),
                             " data are cut short; what comes before is used");
        break;
      }
    }
    ended_ = true;
    return absl::Span<char>();
  }

 private:
  // What is behind the last member.
  Status PassOver() {
    uint64_t bytes = 0;
    bool zeros = true;
    while (!rest()->empty()) {
      bytes += rest()->size();
      zeros = zeros && rest()->find_first_not_of('\0') == std::string_view::npos;
      *rest() = {};
      VS_RETURN_IF_ERROR(Have(1));
    }
    if (!zeros) {
      loss_ = absl::StrCat("the last ", bytes, " bytes are not ", PackingName(packing_),
                           " data and are left out");
    }
    return absl::OkStatus();
  }

  const std::unique_ptr<Unpacker> unpacker_;
  std::vector<char> out_;
  bool ended_ = false;
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
  auto input = std::make_unique<InputFile>(fd);
  struct stat file {};
  if (fstat(fd, &file) != 0) return failed(errno);
  if (S_ISDIR(file.st_mode)) return failed(EISDIR);
  if (!S_ISREG(file.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot read ", path, ": it is a pipe or a device; a trace is read from a file"));
  }
  if (const int error = input->Have(kPackingBytes); error != 0) return failed(error);
  const Packing packing = PackingOf(*input->rest());
  if (packing == Packing::kNone) {
    return std::make_unique<PlainSource>(std::move(input), path, most, packing);
  }
  if (packing != Packing::kGzip && packing != Packing::kZstd) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": the file is packed with ", PackingName(packing),
        ", but only gzip and zstd are read; unpack it first (", UnpackingCommand(packing), ")"));
  }
  most = std::min(most, kMostUnpacked + kMostUnpackedOfByte * static_cast<uint64_t>(file.st_size));
  auto unpacker = Unpacker::Make(packing);
  if (!unpacker.ok()) {
    return Status(unpacker.status().code(), absl::StrCat(path, ": ", unpacker.status().message()));
  }
  return std::make_unique<PackedSource>(std::move(input), path, most, packing,
                                        *std::move(unpacker));
}

}  // namespace vramspan::replay
