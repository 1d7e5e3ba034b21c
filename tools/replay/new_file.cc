#include "tools/replay/new_file.h"

#include <absl/strings/str_cat.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace vramspan::replay {
namespace {

namespace fs = std::filesystem;

Status ThereAlready(const std::string& path) {
  return absl::AlreadyExistsError(absl::StrCat(path, ": is there already; --force replaces it"));
}

Status CannotWrite(const std::string& path, int error) {
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": cannot be written: ", std::strerror(error)));
}

bool IsThere(const std::string& path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0;
}

}  // namespace

StatusOr<std::unique_ptr<OutputPlace>> OutputPlace::Find(const std::string& path, bool force) {
  if (path.empty()) return absl::FailedPreconditionError("'' is no file to write");
  if (!force && IsThere(path)) return ThereAlready(path);
  struct stat status;
  const bool there = stat(path.c_str(), &status) == 0;
  if (there && !S_ISREG(status.st_mode)) {
    return std::unique_ptr<OutputPlace>(new OutputPlace(path, path, path, force));
  }
  // What a link leads to is replaced, not the link.
  std::error_code error;
  fs::path target = path;
  if (lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) {
    target = fs::weakly_canonical(path, error);
    if (error) return CannotWrite(path, error.value());
  }
  const std::string folder = target.has_parent_path() ? target.parent_path().string() : ".";
  if (access(folder.c_str(), W_OK | X_OK) != 0) return CannotWrite(path, errno);
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  const fs::path beside =
      fs::path(folder) / absl::StrCat(".vramspan-", getpid(), "-", now, ".part");
  return std::unique_ptr<OutputPlace>(
      new OutputPlace(path, target.string(), beside.string(), force));
}

OutputPlace::~OutputPlace() {
  if (beside() && !moved_) std::remove(writing_.c_str());
}

Status OutputPlace::Move() {
  if (!beside()) return absl::OkStatus();
  struct stat old;
  if (force_ && stat(target_.c_str(), &old) == 0) {
    // Who could read it still can. Where that is not to be had, the new file has the usual rights.
    [[maybe_unused]] const int ignored = chmod(writing_.c_str(), old.st_mode & 07777);
  } else if (!force_) {
    // Of two that write the same file the second is to fail.
    if (link(writing_.c_str(), target_.c_str()) == 0) return absl::OkStatus();
    if (errno == EEXIST || IsThere(target_)) return ThereAlready(path_);
  }
  if (std::rename(writing_.c_str(), target_.c_str()) != 0) return CannotWrite(path_, errno);
  moved_ = true;
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<NewFile>> NewFile::Open(const std::string& path, bool force) {
  if (path == "-") {
    const int out = dup(STDOUT_FILENO);
    std::FILE* const file = out < 0 ? nullptr : fdopen(out, "wb");
    if (file == nullptr) return CannotWrite("stdout", errno);
    return std::unique_ptr<NewFile>(new NewFile(file, "stdout", nullptr));
  }
  VS_ASSIGN_OR_RETURN(std::unique_ptr<OutputPlace> place, OutputPlace::Find(path, force));
  std::FILE* const file = std::fopen(place->writing().c_str(), place->beside() ? "wbxe" : "wbe");
  if (file == nullptr) return CannotWrite(path, errno);
  return std::unique_ptr<NewFile>(new NewFile(file, path, std::move(place)));
}

NewFile::~NewFile() {
  if (file_ != nullptr) std::fclose(file_);
}

void NewFile::Write(std::string_view bytes) {
  if (error_ != 0 || bytes.empty()) return;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) error_ = errno;
}

Status NewFile::Close() {
  std::FILE* const file = file_;
  file_ = nullptr;
  if (std::fclose(file) != 0 && error_ == 0) error_ = errno;
  if (error_ != 0) return absl::DataLossError(CannotWrite(path_, error_).message());
  return place_ == nullptr ? absl::OkStatus() : place_->Move();
}

Status CheckNewFile(const std::string& path, bool force) {
  return path == "-" ? absl::OkStatus() : OutputPlace::Find(path, force).status();
}

Status WriteNewFile(const std::string& path, bool force, std::string_view bytes) {
  VS_ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> file, NewFile::Open(path, force));
  file->Write(bytes);
  return file->Close();
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
