#include "runtime/trace/block_file.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/own_calls.h"
#include "runtime/base/quiet_write.h"

namespace vramspan::trace {
namespace {

// A new file, or with `force` one that is there. Readable, so that OwnDescriptor can hold its
// inode.
StatusOr<int> OpenFile(const std::string& path, bool force) {
  struct stat found;
  if (lstat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode) && !S_ISLNK(found.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat("the recording cannot be written to ", path,
                                                   ", which is not a regular file; name another"));
  }
  const int fd = open(path.c_str(),
                      O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | (force ? O_TRUNC : O_EXCL), 0600);
  if (fd >= 0) return fd;
  const int error = errno;
  if (error == EEXIST) {
    return absl::AlreadyExistsError(
        absl::StrCat(path, " exists already, and is not replaced; name another"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("cannot write the recording ", path, ": ", std::strerror(error)));
}

}  // namespace

StatusOr<std::unique_ptr<BlockFile>> BlockFile::Open(const BlockFileOptions& options,
                                                     std::string_view header,
                                                     std::function<void(BlockFile*)> collect) {
  std::unique_ptr<BlockFile> f(new BlockFile());
  f->path_ = absl::StrReplaceAll(options.path, {{"%p", absl::StrCat(getpid())}});
  VS_ASSIGN_OR_RETURN(const int fd, OpenFile(f->path_, options.force));
  f->file_.Adopt(fd);
  f->most_waiting_ = options.most_waiting;
  f->flush_ = options.flush;
  f->collect_ = std::move(collect);
  f->process_ = getpid();
  VS_RETURN_IF_ERROR(f->WriteBytes(header));
  VS_ASSIGN_OR_RETURN(f->thread_, StartThread(
                                      "vramspan-trace", [raw = f.get()] { raw->Loop(); },
                                      [raw = f.get()] { raw->Failed(); }));
  return f;
}

BlockFile::~BlockFile() {
  const Status closed = Close();
  if (!closed.ok()) Log(LogLevel::kError, std::string(closed.message()));
}

bool BlockFile::in_child() const { return getpid() != process_; }

bool BlockFile::Hand(const BlockHeader& header, BlockBytes bytes, bool must) {
  MutexLock lock(mu_);
  if (!must && waiting_bytes_ + bytes.size() > most_waiting_) return false;
  waiting_bytes_ += bytes.size();
  waiting_.push_back({header, std::move(bytes)});
  wake_.NotifyAll();
  return true;
}

void BlockFile::Loop() {
  const OwnCalls own;
  auto due = Clock::now() + flush_;
  while (true) {
    uint64_t wanted;
    bool stop, all;
    {
      MutexLock lock(mu_);
      while (waiting_.empty() && wanted_ == flushed_ && !stop_ && Clock::now() < due) {
        wake_.WaitFor(mu_, due - Clock::now());
      }
      wanted = wanted_;
      stop = stop_;
      all = stop || wanted != flushed_ || Clock::now() >= due;
    }
    if (all) {
      collect_(this);
      due = Clock::now() + flush_;
    }
    WriteFull();
    MutexLock lock(mu_);
    flushed_ = wanted;
    done_.NotifyAll();
    if (stop && waiting_.empty()) return;
  }
}

void BlockFile::WriteFull() {
  std::vector<Full> full;
  {
    MutexLock lock(mu_);
    full.swap(waiting_);
  }
  for (Full& f : full) {
    const size_t bytes = f.bytes.size();
    const Status status = WriteBlock(&f);
    MutexLock lock(mu_);
    waiting_bytes_ -= bytes;
    if (!status.ok()) StopLocked(status);
  }
}

void BlockFile::Stop(const Status& why) {
  MutexLock lock(mu_);
  StopLocked(why);
}

void BlockFile::StopLocked(const Status& why) {
  if (!error_.ok()) return;
  error_ = why;
  closed_.store(true, std::memory_order_relaxed);
  Log(LogLevel::kError, absl::StrCat("the recording ends here: ", why.message()));
}

void BlockFile::Failed() {
  MutexLock lock(mu_);
  failed_ = true;
  closed_.store(true, std::memory_order_relaxed);
  done_.NotifyAll();
  waiting_.clear();
  StopLocked(absl::InternalError(absl::StrCat("the thread that writes ", path_, " has ended")));
}

Status BlockFile::WriteBlock(Full* full) {
  {
    MutexLock lock(mu_);
    if (!error_.ok()) return error_;
  }
  full->header.number = blocks_;
  VS_ASSIGN_OR_RETURN(const absl::Span<const char> frames, packer_.Pack(full->header, full->bytes));
  VS_RETURN_IF_ERROR(WriteBytes(frames));
  ++blocks_;
  return absl::OkStatus();
}

Status BlockFile::WriteBytes(absl::Span<const char> bytes) {
  // The header is written on the program's thread.
  QuietWrites quiet;
  while (!bytes.empty()) {
    const StatusOr<int> fd = file_.Get();
    if (!fd.ok()) {
      return absl::UnavailableError(
          absl::StrCat("cannot write the recording ", path_, ": ", fd.status().message()));
    }
    const ssize_t wrote = write(*fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      const int error = errno;
      quiet.Failed(error);
      return absl::UnavailableError(
          absl::StrCat("cannot write the recording ", path_, ": ", std::strerror(error),
                       error == EFBIG ? " (the limit of `ulimit -f`)" : ""));
    }
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return absl::OkStatus();
}

Status BlockFile::Flush() {
  if (in_child()) return absl::OkStatus();
  MutexLock lock(mu_);
  if (stop_ || failed_) return error_;
  const uint64_t wanted = ++wanted_;
  wake_.NotifyAll();
  while (flushed_ < wanted && !failed_) done_.Wait(mu_);
  return error_;
}

Status BlockFile::Close() {
  if (in_child() || !thread_.joinable()) return absl::OkStatus();
  closed_.store(true, std::memory_order_relaxed);
  {
    MutexLock lock(mu_);
    stop_ = true;
    wake_.NotifyAll();
  }
  thread_.Join();
  MutexLock lock(mu_);
  return error_;
}

}  // namespace vramspan::trace
