// Reads a trace file: its header, then block after block. The file may be anybody's. What is cut or
// damaged is said, with the offset, and what lies behind it is found again: blocks stand alone.
//
// Threads: not safe. Memory: the file is mapped, one block is unpacked at a time.
#ifndef VRAMSPAN_RUNTIME_TRACE_READER_H_
#define VRAMSPAN_RUNTIME_TRACE_READER_H_

#include <absl/functional/function_ref.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/trace/block.h"
#include "runtime/trace/events.h"

namespace vramspan::trace {

class Reader {
 public:
  // Whether the bytes begin as a trace does, of whichever version and byte order.
  static bool LooksLikeTrace(std::string_view bytes);
  // NotFound, or FailedPrecondition where it cannot be read, is no trace, or is not of this version
  // or byte order; all name the file.
  static StatusOr<std::unique_ptr<Reader>> Open(const std::string& path);
  // The same for bytes in memory, which outlive the reader.
  static StatusOr<std::unique_ptr<Reader>> OfBytes(std::string_view bytes);
  ~Reader();

  const Header& header() const { return header_; }
  size_t file_bytes() const { return bytes_.size(); }

  struct Block {
    BlockHeader header;
    size_t offset = 0;  // Of its first byte in the file.
  };
  // Every event of every good block, in the file's order: within a thread's blocks in order of
  // time, between threads not. The event's memory is used again for the next. A block in whose
  // middle damage shows gives what comes before it.
  void ForEach(absl::FunctionRef<void(const Block&, const Event&)> take);
  // From within `take`: no more events are wanted. What is behind is not looked at.
  void Stop() { stopped_ = true; }

  // After ForEach. Sentences, with offsets, for what was damaged or missing: a trace without an
  // end, of a program that was killed, is one, and one of which events were lost.
  const std::vector<std::string>& problems() const { return problems_; }
  uint64_t blocks() const { return blocks_; }
  uint64_t events() const { return events_; }
  bool ended() const { return ended_; }

 private:
  Reader() = default;
  void Problem(size_t offset, std::string_view what);
  // Of a good block that begins at `offset`: what its header says and its place and contents do
  // not.
  void CheckNumber(const BlockHeader& header, size_t offset);
  void TakeBlock(const Block& block, absl::Span<const uint8_t> raw,
                 absl::FunctionRef<void(const Block&, const Event&)> take);
  void SayWhatIsMissing();

  std::string_view bytes_;
  void* mapped_ = nullptr;
  Header header_;
  size_t begin_ = 0;  // Of the first block.
  std::vector<std::string> problems_;
  uint64_t more_problems_ = 0;
  uint64_t blocks_ = 0, events_ = 0, unknown_ = 0, lost_ = 0;
  uint64_t next_number_ = 0;  // Of the next block, where none is missing.
  bool said_ = false;         // Why blocks may be missing before the next one.
  bool ended_ = false;
  bool stopped_ = false;
};

}  // namespace vramspan::trace

#endif  // VRAMSPAN_RUNTIME_TRACE_READER_H_
