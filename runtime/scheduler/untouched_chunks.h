// What work may touch beside what it names ends where memory is nobody's: whoever freed it has
// submitted all work before that may touch it, and whoever is handed it next has not got it yet. So
// work that comes in between is no reason to keep such a chunk where it is, or to map it.
//
// Pure: no clock, no lock.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_UNTOUCHED_CHUNKS_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_UNTOUCHED_CHUNKS_H_

#include <cstddef>
#include <vector>

#include "runtime/scheduler/work.h"
#include "runtime/space/chunk.h"

namespace vramspan {

// Takes such chunks out of the uses of work that is submitted now: `likely` first, which stay; then
// `possible`, then what is to be mapped only. `chunk_of`: the chunk of an index. How many are
// possible then.
template <typename ChunkOf>
size_t LeaveOutUntouched(size_t likely, size_t possible, ChunkOf chunk_of,
                         std::vector<ChunkUse>* all) {
  size_t end = likely, left = 0;
  for (size_t i = likely; i < all->size(); ++i) {
    const Chunk& c = chunk_of((*all)[i].chunk);
    if (c.freed()) continue;
    left += i < likely + possible;
    (*all)[end++] = (*all)[i];
  }
  all->resize(end);
  return left;
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_UNTOUCHED_CHUNKS_H_
