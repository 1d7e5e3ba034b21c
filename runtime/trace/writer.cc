#include "runtime/trace/writer.h"

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

// The buffers that this thread has, of the writers that it met last.
struct Known {
  uint64_t writer = 0;
  void* buffer = nullptr;
};
thread_local Known known[2];
thread_local unsigned next_known = 0;

std::atomic<uint64_t> next_writer{1};

// A new file, or with `force` one that is there. Readable, so that OwnDescriptor can hold its
// inode.
StatusOr<int> OpenFile(const std::string& path, bool force) {
  struct stat found;
  if (lstat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode) && !S_ISLNK(found.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat("the trace cannot be written to ", path,
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
      absl::StrCat("cannot write the trace ", path, ": ", std::strerror(error)));
}

}  // namespace

StatusOr<std::unique_ptr<Writer>> Writer::Open(const WriterOptions& options, const Header& header) {
  std::unique_ptr<Writer> w(new Writer());
  w->path_ = absl::StrReplaceAll(options.path, {{"%p", absl::StrCat(getpid())}});
  VS_ASSIGN_OR_RETURN(const int fd, OpenFile(w->path_, options.force));
  w->file_.Adopt(fd);
  w->id_ = next_writer.fetch_add(1, std::memory_order_relaxed);
  w->most_waiting_ = options.most_waiting;
  w->flush_ = options.flush;
  w->began_ = Clock::now();
  w->process_ = getpid();
  VS_RETURN_IF_ERROR(w->WriteBytes(PackHeader(header)));
  VS_ASSIGN_OR_RETURN(w->thread_, StartThread(
                                      "vramspan-trace", [raw = w.get()] { raw->Loop(); },
                                      [raw = w.get()] { raw->Failed(); }));
  return w;
}

Writer::~Writer() {
  const Status closed = Close();
  if (!closed.ok()) Log(LogLevel::kError, std::string(closed.message()));
}

Writer::Buffer* Writer::MyBuffer() {
  if (closed_.load(std::memory_order_relaxed)) return nullptr;
  for (const Known& k : known) {
    if (k.writer == id_) return static_cast<Buffer*>(k.buffer);
  }
  // Of a child the parent's threads and locks are no more than bytes.
  if (getpid() != process_) return nullptr;
  auto buffer = std::make_unique<Buffer>();
  Buffer* const raw = buffer.get();
  {
    MutexLock lock(mu_);
    raw->thread = static_cast<uint32_t>(buffers_.size());
    buffers_.push_back(std::move(buffer));
  }
  known[next_known++ % std::size(known)] = {id_, raw};
  return raw;
}

void Writer::Begin(Buffer* buffer) {
  buffer->encoder.Start(Now());
  buffer->told = std::exchange(buffer->lost, 0);
  if (buffer->told != 0) buffer->encoder.Add(LostEvent{buffer->told});
}

void Writer::Hand(Buffer* buffer, bool drop) {
  Full full;
  full.header.thread = buffer->thread;
  full.header.events = buffer->encoder.events();
  full.header.first_time = buffer->encoder.first_time();
  full.bytes = buffer->encoder.Take();
  MutexLock lock(mu_);
  if (drop && waiting_bytes_ + full.bytes.size() > most_waiting_) {
    buffer->lost += full.header.events;
    if (buffer->told != 0) buffer->lost += buffer->told - 1;
    return;
  }
  waiting_bytes_ += full.bytes.size();
  waiting_.push_back(std::move(full));
  wake_.NotifyAll();
}

void Writer::Loop() {
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
      TakeBuffers();
      due = Clock::now() + flush_;
    }
    WriteFull();
    MutexLock lock(mu_);
    flushed_ = wanted;
    done_.NotifyAll();
    if (stop && waiting_.empty()) return;
  }
}

void Writer::TakeBuffers() {
  std::vector<Buffer*> buffers;
  {
    MutexLock lock(mu_);
    for (const auto& buffer : buffers_) buffers.push_back(buffer.get());
  }
  for (Buffer* buffer : buffers) {
    MutexLock lock(buffer->mu);
    if (buffer->lost != 0) Prepare(buffer);
    if (buffer->encoder.started()) Hand(buffer, /*drop=*/false);
  }
}

void Writer::WriteFull() {
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
    if (!status.ok()) Stop(status);
  }
}

void Writer::Stop(const Status& why) {
  if (!error_.ok()) return;
  error_ = why;
  closed_.store(true, std::memory_order_relaxed);
  Log(LogLevel::kError, absl::StrCat("the recording ends here: ", why.message()));
}

void Writer::Failed() {
  MutexLock lock(mu_);
  failed_ = true;
  closed_.store(true, std::memory_order_relaxed);
  done_.NotifyAll();
  waiting_.clear();
  Stop(absl::InternalError(absl::StrCat("the thread that writes ", path_, " has ended")));
}

Status Writer::WriteBlock(Full* full) {
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

Status Writer::WriteBytes(absl::Span<const char> bytes) {
  // The header is written on the program's thread.
  QuietWrites quiet;
  while (!bytes.empty()) {
    const StatusOr<int> fd = file_.Get();
    if (!fd.ok()) {
      return absl::UnavailableError(
          absl::StrCat("cannot write the trace ", path_, ": ", fd.status().message()));
    }
    const ssize_t wrote = write(*fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      const int error = errno;
      quiet.Failed(error);
      return absl::UnavailableError(
          absl::StrCat("cannot write the trace ", path_, ": ", std::strerror(error),
                       error == EFBIG ? " (the limit of `ulimit -f`)" : ""));
    }
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return absl::OkStatus();
}

Status Writer::Flush() {
  if (getpid() != process_) return absl::OkStatus();
  MutexLock lock(mu_);
  if (stop_ || failed_) return error_;
  const uint64_t wanted = ++wanted_;
  wake_.NotifyAll();
  while (flushed_ < wanted && !failed_) done_.Wait(mu_);
  return error_;
}

Status Writer::Close() {
  if (getpid() != process_ || !thread_.joinable()) return absl::OkStatus();
  Add(EndEvent{Now()});
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
