// Which memory is needed again soon. What a kernel may as well read where it lies is better moved
// for it, if one of the next launches needs it on the device: it crosses the bus once instead of
// twice, and while it is read on the host it cannot come.
//
// Soon is before kernels have touched kSoon times what the device holds, in bytes that they name;
// beyond that it most likely has left by then. What the launches behind one need is taken from the
// last time that the same came by (its signature is the forecast's). A launch needs what it cannot
// as well read on the host.
//
// Bounded: kMost signatures, those that fall together displace each other, and 72 bytes a chunk,
// for the last kTouches launches that touched it. Of one launch's chunks those whose numbers are 64
// apart count as one. Pure and deterministic. Threads: not safe.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_REUSE_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_REUSE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/units.h"

namespace vramspan {

class Reuse {
 public:
  static constexpr size_t kMost = 1 << 14;
  // Times what the device holds. Most memory is touched several times before other memory is.
  static constexpr uint64_t kSoon = 4;
  static constexpr size_t kTouches = 4;  // Earlier ones may be told nothing: that costs time only.

  // Chunks of one launch.
  class Set {
   public:
    bool contains(ChunkIndex chunk) const { return (bits_ & Bit(chunk)) != 0; }
    void Add(ChunkIndex chunk) { bits_ |= Bit(chunk); }

   private:
    static uint64_t Bit(ChunkIndex chunk) { return uint64_t{1} << (chunk.value % 64); }
    uint64_t bits_ = 0;
  };

  explicit Reuse(Bytes device_memory) : entries_(kMost) { BudgetIs(device_memory); }
  // What the device holds from here on.
  void BudgetIs(Bytes device_memory) {
    soon_ = Bytes(kSoon * std::min(device_memory.value, UINT64_MAX / kSoon));
  }

  // A launch comes. What others needed soon after the last one of this signature; 0 is none.
  Set Launch(uint64_t signature);
  // That launch touches the chunk, and needs it on the device for itself or does not.
  void Touch(ChunkIndex chunk, Bytes size, bool needs);

 private:
  struct Entry {
    uint64_t signature = 0;
    Set before, now;  // Of the last launch but one, and of the last as far as others have come.
  };
  struct Touched {
    uint64_t signature = 0;
    Bytes at;
  };
  // Since one needed it, the latest.
  struct Since {
    std::array<Touched, kTouches> touched;
    uint32_t count = 0;
  };
  Entry& Find(uint64_t signature);

  Bytes soon_;
  uint64_t current_ = 0;
  Bytes began_, touched_;  // Before the launch that came last, and in all.
  std::vector<Entry> entries_;
  std::vector<Since> since_;  // By chunk.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_REUSE_H_
