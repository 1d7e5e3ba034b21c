#include "tools/replay/new_file.h"

#include <absl/strings/str_cat.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace vramspan::replay {

StatusOr<std::unique_ptr<NewFile>> NewFile::Open(const std::string& path, bool force) {
  std::FILE* const file = std::fopen(path.c_str(), force ? "wb" : "wbx");
  if (file != nullptr) return std::unique_ptr<NewFile>(new NewFile(file, path));
  if (errno == EEXIST) {
    return absl::AlreadyExistsError(absl::StrCat(path, ": is there already; --force replaces it"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": cannot be written: ", std::strerror(errno)));
}

NewFile::NewFile(std::FILE* file, std::string path) : file_(file), path_(std::move(path)) {
  struct stat status;
  regular_ = fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode);
}

NewFile::~NewFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  Remove();
}

void NewFile::Remove() const {
  if (regular_) std::remove(path_.c_str());
}

void NewFile::Write(std::string_view bytes) {
  if (error_ != 0 || bytes.empty()) return;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) error_ = errno;
}

Status NewFile::Close() {
  std::FILE* const file = file_;
  file_ = nullptr;
  if (std::fclose(file) != 0 && error_ == 0) error_ = errno;
  if (error_ == 0) return absl::OkStatus();
  Remove();
  return absl::DataLossError(
      absl::StrCat(path_, ": could not be written: ", std::strerror(error_)));
}

Status RefuseSameFile(const std::string& output, const std::string& other, std::string_view what) {
  const auto plain = [](const std::string& path) {
    return std::filesystem::absolute(path).lexically_normal();
  };
  if (output.empty() || other.empty()) return absl::OkStatus();
  std::error_code error;  // Neither need be there yet.
  if (plain(output) != plain(other) && !std::filesystem::equivalent(output, other, error)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(output, ": is ", what, ", too: give another file to write"));
}

}  // namespace vramspan::replay
