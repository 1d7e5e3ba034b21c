// Arrays inside one allocation that the program uploaded in one piece each.
//
// A program that lays out its own memory, as llama.cpp does with all weights in one buffer, tells
// by its copies where each array begins and ends. That is evidence of a layout, and no proof of
// what a kernel does with it: only code that was seen to stay in such arrays is taken at its word,
// and only where launches name the arrays as they were uploaded (WorkingSets, docs/trust.md).
//
// What is written by two copies is no array: it holds inputs, or is handed out anew.
//
// Pure; of one allocation. Threads: one at a time.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_UPLOADS_H_
#define VRAMSPAN_RUNTIME_OBSERVE_UPLOADS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/units.h"

namespace vramspan {

class Uploads {
 public:
  // Smaller ones are arguments, most often.
  static constexpr Bytes kLeast = KiB(4);
  // Remembered; beyond that no more are.
  static constexpr size_t kMost = 1 << 16;

  // False: nothing has changed. Offsets into the allocation.
  bool Add(uint64_t offset, Bytes size);
  // The size of the array that begins there; 0 where none does.
  Bytes SizeAt(uint64_t offset) const;
  // Whether arrays are nearly all of an allocation of that size: so its program has laid it out.
  bool Fill(Bytes allocation) const { return arrays_bytes_ >= allocation.value / 4 * 3; }

 private:
  struct Piece {
    uint64_t begin, end;
    bool array;  // False: written again.
  };
  static uint64_t BytesOf(const Piece& piece) { return piece.array ? piece.end - piece.begin : 0; }

  std::vector<Piece> pieces_;  // Sorted; none overlaps another.
  uint64_t arrays_bytes_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_UPLOADS_H_
