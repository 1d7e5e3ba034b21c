#include "tools/replay/new_file.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace vramspan::replay {
namespace {

namespace fs = std::filesystem;

Status ThereAlready(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    return absl::AlreadyExistsError(absl::StrCat(path, ": it is a folder; name a file in it"));
  }
  return absl::AlreadyExistsError(absl::StrCat(path, ": the file exists; --force replaces it"));
}

Status CannotWrite(const std::string& path, int error) {
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": the file cannot be written: ", std::strerror(error)));
}

std::string NameBeside(const std::string& target) {
  const fs::path path(target);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return folder / absl::StrCat(".vramspan-", getpid(), "-", now, ".part");
}

bool IsThere(const std::string& path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0;
}

}  // namespace

StatusOr<std::unique_ptr<OutputPlace>> OutputPlace::Find(const std::string& path, bool force) {
  if (path.empty()) return absl::FailedPreconditionError("'' is not a file to write");
  if (!force && IsThere(path)) return ThereAlready(path);
  struct stat status;
  const bool there = stat(path.c_str(), &status) == 0;
  // What a link leads to is replaced, not the link.
  std::error_code error;
  fs::path target = path;
  if (lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) {
    target = fs::weakly_canonical(path, error);
    if (error) return CannotWrite(path, error.value());
  }
  std::unique_ptr<OutputPlace> place(new OutputPlace(path, target.string(), force));
  if (there && stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    place->writing_ = path;
    return place;
  }
  VS_RETURN_IF_ERROR(place->Make());
  return place;
}

Status OutputPlace::Make() {
  const std::string folder = fs::path(NameBeside(target_)).parent_path().string();
  fd_ = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (fd_ >= 0) {
    writing_ = absl::StrCat("/proc/self/fd/", fd_);
    if (access(writing_.c_str(), W_OK) == 0) return absl::OkStatus();
    close(std::exchange(fd_, -1));
  }
  writing_ = NameBeside(target_);
  fd_ = open(writing_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
  if (fd_ < 0 && errno == ENOENT) {
    return absl::NotFoundError(absl::StrCat(path_, ": there is no folder ", folder));
  }
  if (fd_ < 0) return CannotWrite(path_, errno);
  beside_ = writing_;
  return absl::OkStatus();
}

OutputPlace::~OutputPlace() {
  if (!beside_.empty()) std::remove(beside_.c_str());
  if (fd_ >= 0) close(fd_);
}

int OutputPlace::Name(const std::string& to) const {
  const int done = beside_.empty()
                       ? linkat(AT_FDCWD, writing_.c_str(), AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW)
                       : link(beside_.c_str(), to.c_str());
  return done == 0 ? 0 : errno;
}

Status OutputPlace::Move() {
  if (fd_ < 0) return absl::OkStatus();
  struct stat old;
  if (force_ && stat(target_.c_str(), &old) == 0) {
    // Who could read it still can. Where that is not to be had, the new file has the usual rights.
    [[maybe_unused]] const int ignored = fchmod(fd_, old.st_mode & 07777);
  }
  // Of two that write the same file the second is to fail; replacing one takes another name first.
  int error = Name(target_);
  if (error == 0) return absl::OkStatus();
  if (!force_ && (error == EEXIST || IsThere(target_))) return ThereAlready(path_);
  if (beside_.empty()) {
    const std::string name = NameBeside(target_);
    error = Name(name);
    if (error != 0) return CannotWrite(path_, error);
    beside_ = name;
  }
  if (std::rename(beside_.c_str(), target_.c_str()) != 0) return CannotWrite(path_, errno);
  beside_.clear();
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
  std::FILE* const file = std::fopen(place->writing().c_str(), "wbe");
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
      absl::StrCat(output, ": the file is also ", what, "; write to another file"));
}

}  // namespace vramspan::replay
