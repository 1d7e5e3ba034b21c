// Events into the bytes of one block. Every block starts from nothing, so that any one can be read
// without the others. Decoder (decoder.h) is the other half.
//
// Threads: not safe. Memory: the block's bytes, and for each code seen in it the ranges that it had
// last.
#ifndef VRAMSPAN_RUNTIME_TRACE_ENCODER_H_
#define VRAMSPAN_RUNTIME_TRACE_ENCODER_H_

#include <absl/container/flat_hash_map.h>

#include <memory>
#include <string_view>
#include <vector>

#include "runtime/trace/events.h"

namespace vramspan::trace {

// What both halves keep of the events before, so that most of the next is a difference of nothing.
struct BlockState {
  explicit BlockState(uint64_t first_time)
      : time(first_time), end(first_time), waited(first_time), discarded(first_time) {}

  uint64_t time;
  uint64_t end;  // Of the last measured work.
  uint64_t base = 0;
  uint64_t id = 0;
  uint64_t measured_id = 0;
  // Of its own, for who passes over the event must not miss what it says.
  uint64_t compared_base = 0, compared_id = 0;
  uint64_t waited;
  uint64_t discarded, discarded_base = 0;
  absl::flat_hash_map<uint32_t, std::vector<TracedRange>> ranges;  // Of each code, the last.
};

// Bytes that are written at their end, without being filled with anything first.
class BlockBytes {
 public:
  // Room for `most` bytes behind those there are.
  uint8_t* Room(size_t most) {
    if (capacity_ - size_ < most) Grow(most);
    return bytes_.get() + size_;
  }
  void EndAt(const uint8_t* end) { size_ = static_cast<size_t>(end - bytes_.get()); }
  void Clear() { size_ = 0; }
  uint8_t* data() { return bytes_.get(); }
  const uint8_t* data() const { return bytes_.get(); }
  size_t size() const { return size_; }
  operator absl::Span<const uint8_t>() const { return {bytes_.get(), size_}; }

 private:
  void Grow(size_t most);

  std::unique_ptr<uint8_t[]> bytes_;
  size_t size_ = 0, capacity_ = 0;
};

class Encoder {
 public:
  // The block that follows: empty, with times told from `first_time` on.
  void Start(uint64_t first_time);
  bool started() const { return events_ != 0; }
  uint64_t first_time() const { return first_time_; }
  uint32_t events() const { return events_; }
  // Worth closing: it is large, or says much.
  bool full() const { return bytes_.size() >= kBlockBytes || ranges_ >= kBlockRanges; }
  // The block's bytes, to be compressed; the encoder has none then.
  BlockBytes Take();

  void Add(const AllocateEvent& e);
  void Add(const FreeEvent& e);
  void Add(const CodeEvent& e) { AddCode(e.code, e.shape, e.name); }
  void AddCode(uint32_t code, uint64_t shape, std::string_view name);
  void Add(const WorkEvent& e);
  void Add(const TimesEvent& e);
  void Add(const MoveEvent& e);
  void Add(const BudgetEvent& e);
  void Add(const LostEvent& e);
  void Add(const EndEvent& e);
  void Add(const CompareEvent& e);
  void Add(const WaitEvent& e);
  void Add(const CostEvent& e);
  void Add(const DiscardEvent& e);
  void Add(const OwnEvent& e);
  void Add(const AlikeEvent& e);

 private:
  // Room for a record's body of at most `most` bytes; Close tells its end.
  uint8_t* Open(EventType type, size_t most);
  void Close(uint8_t* end);
  void AddWork(const WorkEvent& e, absl::Span<const TracedRange> ranges);

  static constexpr size_t kBlockBytes = 256 << 10;
  static constexpr size_t kBlockRanges = 1 << 20;

  uint64_t first_time_ = 0;
  uint32_t events_ = 0;
  size_t ranges_ = 0;
  size_t reserve_ = 0;  // The next block will be about as large as the last.
  BlockBytes bytes_;
  size_t body_ = 0;  // Where the open record's body begins.
  BlockState last_{0};
};

}  // namespace vramspan::trace

#endif  // VRAMSPAN_RUNTIME_TRACE_ENCODER_H_
