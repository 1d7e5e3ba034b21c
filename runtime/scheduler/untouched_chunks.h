// What work may touch by a pointer to a block ends where memory is nobody's: whoever freed it has
// submitted all work before that may touch it, and whoever is handed it next has not got it yet. So
// work that comes in between is no reason to keep such a chunk where it is, or to map it. The
// chunks right beside what it may touch are: code may read a little past an end. That does not fill
// them.
//
// Not thought of: a kernel that runs by then, and is told by the host where in one allocation the
// memory lies that was handed out since.
//
// Pure: no clock, no lock.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_UNTOUCHED_CHUNKS_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_UNTOUCHED_CHUNKS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "runtime/scheduler/work.h"
#include "runtime/space/chunk.h"

namespace vramspan {

// Whether a chunk that work may touch is not meant.
inline bool IsNobodys(const Use& use, const Chunk& c) { return use.told && c.freed(); }

// Right beside a use in a list of them, by place: the chunks before and behind it in memory. The
// use's own place where there is none.
struct Neighbours {
  uint32_t before = 0, behind = 0;
};

// Takes such chunks out of the uses of work. One owner; what it holds is scratch.
class UntouchedChunks {
 public:
  // What lies beside each use of the list. Empty where none may be left out. `chunk_of`: the chunk
  // of an index, or what has a base and a size().
  template <typename ChunkOf>
  void Find(const std::vector<ChunkUse>& all, ChunkOf chunk_of,
            std::vector<Neighbours>* neighbours) {
    neighbours->clear();
    if (std::none_of(all.begin(), all.end(), [](const ChunkUse& use) { return use.how.told; })) {
      return;
    }
    order_.resize(all.size());
    std::iota(order_.begin(), order_.end(), 0u);
    const auto chunk_at = [&](uint32_t i) -> decltype(auto) { return chunk_of(all[i].chunk); };
    std::sort(order_.begin(), order_.end(),
              [&](uint32_t a, uint32_t b) { return chunk_at(a).base < chunk_at(b).base; });
    neighbours->resize(all.size());
    for (uint32_t i = 0; i < all.size(); ++i) (*neighbours)[i] = {i, i};
    for (size_t i = 1; i < order_.size(); ++i) {
      const uint32_t before = order_[i - 1], behind = order_[i];
      const auto& c = chunk_at(before);
      if (c.base + c.size() != chunk_at(behind).base) continue;
      (*neighbours)[before].behind = behind;
      (*neighbours)[behind].before = before;
    }
  }

  // Of work that is submitted now: `likely` uses come first, which stay; then `possible`, then what
  // is to be mapped only. How many are possible then.
  template <typename ChunkOf>
  size_t LeaveOut(size_t likely, size_t possible, const std::vector<Neighbours>& neighbours,
                  ChunkOf chunk_of, std::vector<ChunkUse>* all) {
    if (neighbours.empty()) return possible;
    nobodys_.resize(all->size());
    for (size_t i = 0; i < all->size(); ++i) {
      const ChunkUse& use = (*all)[i];
      nobodys_[i] = i >= likely && IsNobodys(use.how, chunk_of(use.chunk));
    }
    size_t end = likely, left = 0;
    for (size_t i = likely; i < all->size(); ++i) {
      const bool nobodys = nobodys_[i] != 0;
      if (nobodys && nobodys_[neighbours[i].before] != 0 && nobodys_[neighbours[i].behind] != 0)
        continue;
      left += i < likely + possible;
      (*all)[end] = (*all)[i];
      // By the time that it is released others may have given the rest back.
      (*all)[end++].how.told = nobodys;
    }
    all->resize(end);
    return left;
  }

 private:
  std::vector<uint32_t> order_;
  std::vector<uint8_t> nobodys_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_UNTOUCHED_CHUNKS_H_
