// LRU stack distances, exact, one access after another: how much room an LRU cache would have to
// have for the access to find its chunk. All sizes of cache at once, then: an access misses in just
// those that are smaller (R. L. Mattson, J. Gecsei, D. R. Slutz, I. L. Traiger, "Evaluation
// techniques for storage hierarchies", IBM Systems Journal 9(2), 1970).
//
// Every chunk stands at the time of its last access with its size, and the distance is the sum of
// what stands from there on (F. Olken, "Efficient methods for calculating the success function of
// fixed space replacement policies", Lawrence Berkeley Laboratory LBL-12370, 1981, who kept a tree
// of the chunks; the times themselves as here: G. Almasi, C. Cascaval, D. A. Padua, "Calculating
// stack distances efficiently", MSP 2002). Sums are taken from a Fenwick tree (P. M. Fenwick, "A
// new data structure for cumulative frequency tables", Software: Practice and Experience 24(3),
// 1994) over blocks of 64 times. When the times run out what stands is moved together.
//
// What is freed leaves a hole where it stood, room that caches of that size and up have: the next
// that comes from below fills the topmost, and in larger caches, where it was already, the room is
// where it stood before. Exact for equal chunks, and for unequal ones of which none is freed; else
// it is as if chunks left a granule (2 MiB) at a time.
//
// Takes 4 bytes a chunk, and 20 to 40 bytes for each that is there. Threads: not safe.
#ifndef VRAMSPAN_TOOLS_REPLAY_STACK_DISTANCES_H_
#define VRAMSPAN_TOOLS_REPLAY_STACK_DISTANCES_H_

#include <cstdint>
#include <vector>

#include "runtime/base/units.h"
#include "tools/replay/position_set.h"

namespace vramspan::replay {

class StackDistances {
 public:
  static constexpr uint32_t kFirst = UINT32_MAX;

  // Chunks are below `end`.
  explicit StackDistances(uint32_t end);

  // The granules of all that was accessed since the chunk was, itself included; kFirst where it is
  // not there. `granules`: its size, 1 to 255, always the same. REQUIRES: what is there at once is
  // less than 2^32 granules.
  uint32_t Access(ChunkIndex chunk, uint32_t granules);
  // It was freed. Nothing where it is not there.
  void Free(ChunkIndex chunk);
  // It shall never have been accessed.
  void Forget(ChunkIndex chunk);

 private:
  static constexpr uint32_t kBlock = 64;
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kLeastTimes = 1 << 12;

  void Add(uint32_t time, uint32_t granules);
  void Subtract(uint32_t time, uint32_t granules) { Add(time, 0 - granules); }
  // Of what stands before the time.
  uint32_t SumBefore(uint32_t time) const;
  // Takes `granules` out of the holes after `time`, or less where there are not as many.
  uint32_t Fill(uint32_t granules, uint32_t time, bool anywhere);
  void MakeTimes();
  void SetTimes(uint32_t count);

  std::vector<uint32_t> time_;   // By chunk: of its last access.
  std::vector<uint8_t> size_;    // By time: the granules of what stands there.
  std::vector<uint32_t> chunk_;  // By time: what stands there, 0 for holes.
  std::vector<uint32_t> tree_;   // By block, from 1.
  PositionSet holes_{0};
  uint32_t now_ = 0;
  uint32_t total_ = 0;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_STACK_DISTANCES_H_
