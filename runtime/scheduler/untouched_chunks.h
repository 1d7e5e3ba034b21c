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
#include <utility>
#include <vector>

#include "runtime/scheduler/work.h"
#include "runtime/space/chunk.h"

namespace vramspan {

// Whether a chunk that work may touch is not meant.
inline bool IsNobodys(const Use& use, const Chunk& c) { return use.told && c.freed(); }

// Takes such chunks out of the uses of work that is submitted now: `likely` first, which stay; then
// `possible`, then what is to be mapped only. `chunk_of`: the chunk of an index. `edges` is
// scratch. How many are possible then.
template <typename ChunkOf>
size_t LeaveOutUntouched(size_t likely, size_t possible, ChunkOf chunk_of,
                         std::vector<DevicePtr>* edges, std::vector<ChunkUse>* all) {
  edges->clear();
  bool looked = false;
  const auto beside = [&](const Chunk& c) {
    // At the first that may go: all are still there.
    if (!std::exchange(looked, true)) {
      for (size_t i = 0; i < all->size(); ++i) {
        const Chunk& touched = chunk_of((*all)[i].chunk);
        if (i >= likely && IsNobodys((*all)[i].how, touched)) continue;
        edges->insert(edges->end(), {touched.base, touched.base + touched.size()});
      }
      std::sort(edges->begin(), edges->end());
    }
    return std::binary_search(edges->begin(), edges->end(), c.base) ||
           std::binary_search(edges->begin(), edges->end(), c.base + c.size());
  };
  size_t end = likely, left = 0;
  for (size_t i = likely; i < all->size(); ++i) {
    const Chunk& c = chunk_of((*all)[i].chunk);
    const bool nobodys = IsNobodys((*all)[i].how, c);
    if (nobodys && !beside(c)) continue;
    left += i < likely + possible;
    (*all)[end] = (*all)[i];
    // By the time that it is released others may have given the rest back.
    (*all)[end++].how.told = nobodys;
  }
  all->resize(end);
  return left;
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_UNTOUCHED_CHUNKS_H_
