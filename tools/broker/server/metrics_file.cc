#include "tools/broker/server/metrics_file.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <utility>

#include "tools/broker/server/fd.h"
#include "tools/broker/server/journal.h"
#include "tools/broker/server/system_error.h"

namespace vramspan::broker {
namespace {

bool Same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// What is in the place already: nothing, or a file that a broker wrote.
StatusOr<bool> IsThere(int folder, const std::string& name, const std::string& path) {
  // A pipe's writer is not waited for, and no link is followed.
  const Fd file(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ENOENT) return false;
  const Status others = absl::FailedPreconditionError(
      absl::StrCat(path, ": something is there that no broker wrote; move it, or name another"));
  struct stat found = {};
  if (!file || fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return others;
  std::array<char, kMetricsMark.size()> mark = {};
  const ssize_t size = read(file.get(), mark.data(), mark.size());
  if (size < 0 || std::string_view(mark.data(), static_cast<size_t>(size)) != kMetricsMark) {
    return others;
  }
  return true;
}

bool WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// Removes what was made under that name, and nothing else.
void Remove(int folder, const std::string& name, int file) {
  struct stat made = {}, found = {};
  if (fstat(file, &made) != 0) return;
  if (fstatat(folder, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (Same(made, found)) unlinkat(folder, name.c_str(), 0);
}

Status Fill(int folder, const std::string& next, int file, const std::string& name,
            std::string_view text, const std::string& path) {
  // Readable for the collector, whatever the umask is.
  if (!WriteAll(file, kMetricsMark) || !WriteAll(file, text) || fchmod(file, 0644) != 0) {
    return SystemError(path);
  }
  VS_ASSIGN_OR_RETURN(const bool there, IsThere(folder, name, path));
  const unsigned how = there ? 0 : RENAME_NOREPLACE;
  if (renameat2(folder, next.c_str(), folder, name.c_str(), how) != 0) return SystemError(path);
  return absl::OkStatus();
}

}  // namespace

Status CheckMetricsPath(const std::string& path) {
  if (path.ends_with(".prom") && std::filesystem::path(path).filename().string().size() > 5) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--metrics-file: '", path, "' does not end in .prom, so the collector would not read it"));
}

Status WriteMetricsFile(const std::string& path, std::string_view text) {
  const std::filesystem::path whole(path);
  const std::string parent = whole.has_parent_path() ? whole.parent_path().string() : ".";
  const std::string name = whole.filename().string();
  const Fd folder(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return SystemError(parent);
  VS_RETURN_IF_ERROR(IsThere(folder.get(), name, path).status());
  uint64_t number[2] = {};
  if (getrandom(number, sizeof number, 0) != sizeof number) return SystemError("getrandom");
  // Not what the collector looks at.
  const std::string next = absl::StrFormat(".vramspan-%016x%016x.tmp", number[0], number[1]);
  const Fd file(openat(folder.get(), next.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return SystemError(path);
  const Status filled = Fill(folder.get(), next, file.get(), name, text, path);
  if (!filled.ok()) Remove(folder.get(), next, file.get());
  return filled;
}

MetricsFile::MetricsFile(std::string path, Writer writer)
    : path_(std::move(path)), writer_(std::move(writer)) {}

void MetricsFile::Write(std::shared_ptr<const std::string> text) {
  if (job_ != nullptr) {
    if (!job_->done.load(std::memory_order_acquire)) {
      return Learn(absl::UnavailableError(absl::StrCat(path_, ": its folder hangs")));
    }
    Learn(job_->result);
  }
  job_ = std::make_shared<Job>();
  job_->path = path_;
  job_->writer = writer_;
  job_->text = std::move(text);
  auto shared = std::make_unique<std::shared_ptr<Job>>(job_);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, Run, shared.get()) != 0) {
    job_.reset();
    return Learn(absl::UnavailableError(absl::StrCat(path_, ": no thread can write it")));
  }
  static_cast<void>(shared.release());
  pthread_detach(thread);
}

void MetricsFile::Look() {
  if (job_ != nullptr && job_->done.load(std::memory_order_acquire)) Learn(job_->result);
}

void* MetricsFile::Run(void* job) {
  const std::unique_ptr<std::shared_ptr<Job>> shared(static_cast<std::shared_ptr<Job>*>(job));
  Job& own = **shared;
  own.result = own.writer(own.path, *own.text);
  own.text.reset();
  own.done.store(true, std::memory_order_release);
  return nullptr;
}

void MetricsFile::Learn(const Status& result) {
  const std::string said(result.message());
  if (said != last_) {
    Journal::Say(result.ok() ? absl::StrCat(path_, ": it is written again") : said);
  }
  last_ = said;
}

}  // namespace vramspan::broker
