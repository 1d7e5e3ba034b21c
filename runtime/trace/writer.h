// Writes a trace while the program runs: every thread fills a buffer of its own, and a thread of
// the writer's compresses full ones and appends them to the file, and takes what there is four
// times a second, so that a program that is killed loses no more than that.
//
// Add takes the thread's own lock, which only the writer's thread ever contends, and calls nothing
// that can block. Where the disk does not keep up, events are dropped and counted in the trace.
//
// The file is its owner's alone to read, since the command line is in it. What keeps it from being
// written ends the recording with one line: a full disk, RLIMIT_FSIZE (without its signal), an
// exception in the writer's thread, or a program that has closed our descriptor.
//
// Threads: any. A forked child does not write: the file is its parent's. It must not destroy the
// writer either, for the writer's thread is not there to be waited for.
#ifndef VRAMSPAN_RUNTIME_TRACE_WRITER_H_
#define VRAMSPAN_RUNTIME_TRACE_WRITER_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/own_descriptor.h"
#include "runtime/base/status.h"
#include "runtime/base/thread.h"
#include "runtime/trace/block.h"
#include "runtime/trace/encoder.h"

namespace vramspan::trace {

struct WriterOptions {
  std::string path;  // "%p" stands for the process's number.
  // Replaces a file that is there; else that is an error (AlreadyExists). What is there and is no
  // regular file is left alone (InvalidArgument).
  bool force = false;
  std::chrono::milliseconds flush{250};
  size_t most_waiting = 64 << 20;  // Bytes of full blocks; beyond, events are dropped.
};

class Writer {
 public:
  static StatusOr<std::unique_ptr<Writer>> Open(const WriterOptions& options, const Header& header);
  // Closes; what goes wrong then is logged.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Nanoseconds since the trace began.
  uint64_t Now() const {
    return static_cast<uint64_t>((std::chrono::steady_clock::now() - began_).count());
  }
  uint64_t At(std::chrono::steady_clock::time_point time) const {
    return time < began_ ? 0 : static_cast<uint64_t>((time - began_).count());
  }
  const std::string& path() const { return path_; }

  template <typename E>
  void Add(const E& event) {
    Buffer* const buffer = MyBuffer();
    if (buffer == nullptr) return;
    MutexLock lock(buffer->mu);
    Prepare(buffer);
    buffer->encoder.Add(event);
    if (buffer->encoder.full()) Hand(buffer, /*drop=*/true);
  }
  // Writes what there is, and waits for it.
  Status Flush();
  // The end of the trace: nothing that is added later is written.
  Status Close();

 private:
  using Clock = std::chrono::steady_clock;
  struct Buffer {
    Mutex mu;
    Encoder encoder VS_GUARDED_BY(mu);
    uint64_t lost VS_GUARDED_BY(mu) = 0;  // Not told of yet.
    uint64_t told VS_GUARDED_BY(mu) = 0;  // In the block that is being filled.
    uint32_t thread = 0;
  };
  struct Full {
    BlockHeader header;
    BlockBytes bytes;
  };

  Writer() = default;
  Buffer* MyBuffer();
  void Prepare(Buffer* buffer) VS_REQUIRES(buffer->mu) {
    if (!buffer->encoder.started()) Begin(buffer);
  }
  void Begin(Buffer* buffer) VS_REQUIRES(buffer->mu);
  // To the writer's thread. `drop`: where too much waits for it, count and forget.
  void Hand(Buffer* buffer, bool drop) VS_REQUIRES(buffer->mu);
  void Loop();
  // The thread has ended before its time: nothing more is written, and nobody waits for it.
  void Failed();
  // The recording is over for `why`: told at once, and the program goes on without its trace.
  void Stop(const Status& why) VS_REQUIRES(mu_);
  void TakeBuffers();
  void WriteFull();
  Status WriteBlock(Full* full);
  Status WriteBytes(absl::Span<const char> bytes);

  std::string path_;
  OwnDescriptor file_;
  uint64_t id_ = 0;  // Of this writer, among all of the process.
  size_t most_waiting_ = 0;
  std::chrono::milliseconds flush_{};
  Clock::time_point began_;
  int process_ = 0;
  std::atomic<bool> closed_{false};

  Mutex mu_;
  CondVar wake_, done_;
  std::vector<std::unique_ptr<Buffer>> buffers_ VS_GUARDED_BY(mu_);
  std::vector<Full> waiting_ VS_GUARDED_BY(mu_);
  size_t waiting_bytes_ VS_GUARDED_BY(mu_) = 0;
  uint64_t wanted_ VS_GUARDED_BY(mu_) = 0, flushed_ VS_GUARDED_BY(mu_) = 0;
  bool stop_ VS_GUARDED_BY(mu_) = false;
  bool failed_ VS_GUARDED_BY(mu_) = false;
  Status error_ VS_GUARDED_BY(mu_);

  // The writer's thread only.
  BlockPacker packer_;
  uint32_t blocks_ = 0;
  Thread thread_;
};

}  // namespace vramspan::trace

#endif  // VRAMSPAN_RUNTIME_TRACE_WRITER_H_
