// A file of blocks that is written while the program runs: blocks are handed over, and a thread of
// the file's compresses and appends them. It asks for what there is so far four times a second, so
// that a program that is killed loses no more than that.
//
// The file is its owner's alone to read, since the command line is in it. What keeps it from being
// written ends the recording with one line: a full disk, RLIMIT_FSIZE (without its signal), an
// exception in the file's thread, or a program that has closed our descriptor.
//
// Threads: any. A forked child does not write: the file is its parent's. It must not destroy the
// file either, for the thread is not there to be waited for.
#ifndef VRAMSPAN_RUNTIME_TRACE_BLOCK_FILE_H_
#define VRAMSPAN_RUNTIME_TRACE_BLOCK_FILE_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/own_descriptor.h"
#include "runtime/base/status.h"
#include "runtime/base/thread.h"
#include "runtime/trace/block.h"
#include "runtime/trace/encoder.h"

namespace vramspan::trace {

struct BlockFileOptions {
  std::string path;  // "%p" stands for the process's number.
  // Replaces a file that is there; else that is an error (AlreadyExists). What is there and is no
  // regular file is left alone (InvalidArgument).
  bool force = false;
  std::chrono::milliseconds flush{250};
  size_t most_waiting = 64 << 20;  // Bytes of blocks; beyond, none is taken.
};

class BlockFile {
 public:
  // `header` comes first in the file. `collect` is called on the file's thread, and hands over what
  // there is; it outlives the file.
  static StatusOr<std::unique_ptr<BlockFile>> Open(const BlockFileOptions& options,
                                                   std::string_view header,
                                                   std::function<void(BlockFile*)> collect);
  // Closes; what goes wrong then is logged.
  ~BlockFile();
  BlockFile(const BlockFile&) = delete;
  BlockFile& operator=(const BlockFile&) = delete;

  const std::string& path() const { return path_; }
  // Nothing more is written.
  bool closed() const { return closed_.load(std::memory_order_relaxed); }
  // This is a child of the process that writes.
  bool in_child() const;
  // To the file's thread. False: too much waits for it, and the block is left out; not where it
  // must be taken.
  bool Hand(const BlockHeader& header, BlockBytes bytes, bool must);
  // The recording is over for `why`: told at once, and the program goes on without its file.
  void Stop(const Status& why);
  // Writes what there is, and waits for it.
  Status Flush();
  // Nothing that comes later is written.
  Status Close();

 private:
  using Clock = std::chrono::steady_clock;
  struct Full {
    BlockHeader header;
    BlockBytes bytes;
  };

  BlockFile() = default;
  void Loop();
  // The thread has ended before its time: nothing more is written, and nobody waits for it.
  void Failed();
  void StopLocked(const Status& why) VS_REQUIRES(mu_);
  void WriteFull();
  Status WriteBlock(Full* full);
  Status WriteBytes(absl::Span<const char> bytes);

  std::string path_;
  OwnDescriptor file_;
  size_t most_waiting_ = 0;
  std::chrono::milliseconds flush_{};
  std::function<void(BlockFile*)> collect_;
  int process_ = 0;
  std::atomic<bool> closed_{false};

  Mutex mu_;
  CondVar wake_, done_;
  std::vector<Full> waiting_ VS_GUARDED_BY(mu_);
  size_t waiting_bytes_ VS_GUARDED_BY(mu_) = 0;
  uint64_t wanted_ VS_GUARDED_BY(mu_) = 0, flushed_ VS_GUARDED_BY(mu_) = 0;
  bool stop_ VS_GUARDED_BY(mu_) = false;
  bool failed_ VS_GUARDED_BY(mu_) = false;
  Status error_ VS_GUARDED_BY(mu_);

  // The file's thread only.
  BlockPacker packer_;
  uint32_t blocks_ = 0;
  Thread thread_;
};

}  // namespace vramspan::trace

#endif  // VRAMSPAN_RUNTIME_TRACE_BLOCK_FILE_H_
