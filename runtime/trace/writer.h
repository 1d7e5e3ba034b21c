// Writes a trace while the program runs: every thread fills a buffer of its own, and hands full
// ones over to the file (block_file.h).
//
// Add takes the thread's own lock, which only the file's thread ever contends, and calls nothing
// that can block. Where the disk does not keep up, events are dropped and counted in the trace.
//
// block_file.h says who may read the file, and what ends the recording.
//
// Threads: any. A forked child does not write: the file is its parent's. It must not destroy the
// writer either, for the file's thread is not there to be waited for.
#ifndef VRAMSPAN_RUNTIME_TRACE_WRITER_H_
#define VRAMSPAN_RUNTIME_TRACE_WRITER_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/trace/block_file.h"
#include "runtime/trace/encoder.h"

namespace vramspan::trace {

using WriterOptions = BlockFileOptions;

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
  const std::string& path() const { return file_->path(); }

  template <typename E>
  void Add(const E& event) {
    Buffer* const buffer = MyBuffer();
    if (buffer == nullptr) return;
    MutexLock lock(buffer->mu);
    Prepare(buffer);
    buffer->encoder.Add(event);
    if (buffer->encoder.full()) Hand(buffer, file_.get(), /*must=*/false);
  }
  // Writes what there is, and waits for it.
  Status Flush() { return file_->Flush(); }
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
  Writer() = default;
  Buffer* MyBuffer();
  void Prepare(Buffer* buffer) VS_REQUIRES(buffer->mu) {
    if (!buffer->encoder.started()) Begin(buffer);
  }
  void Begin(Buffer* buffer) VS_REQUIRES(buffer->mu);
  // To the file. Where too much waits for it, and it need not be taken: counts and forgets.
  void Hand(Buffer* buffer, BlockFile* to, bool must) VS_REQUIRES(buffer->mu);
  void TakeBuffers(BlockFile* to);

  uint64_t id_ = 0;  // Of this writer, among all of the process.
  Clock::time_point began_;
  Mutex mu_;
  std::vector<std::unique_ptr<Buffer>> buffers_ VS_GUARDED_BY(mu_);
  std::unique_ptr<BlockFile> file_;  // Its thread looks at what is above.
};

}  // namespace vramspan::trace

#endif  // VRAMSPAN_RUNTIME_TRACE_WRITER_H_
