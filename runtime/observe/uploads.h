// Arrays inside one allocation that the program uploaded in one piece each.
//
// A program that lays out its own memory, as llama.cpp does with all weights in one buffer, tells
// by its copies where each array begins and ends. That is evidence of a layout, and no proof of
// what a kernel does with it: only code that was seen to stay in such arrays is taken at its word
// (docs/trust.md).
//
// What lies within an earlier upload is a part of that. Otherwise an upload takes the place of all
// that it overlaps.
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
  // An array goes on to the next one where that begins so soon: rows are padded, and kernels read
  // the padding.
  static constexpr Bytes kPadding = KiB(4);
  // Remembered; beyond that no more are.
  static constexpr size_t kMost = 1 << 16;

  // Offsets into the allocation.
  struct Array {
    uint64_t begin = 0, end = 0;

    bool any() const { return end != 0; }
  };

  // False: nothing has changed.
  bool Add(uint64_t offset, Bytes size);
  // Which holds that byte; none where it lies in no upload.
  Array At(uint64_t offset) const;

 private:
  std::vector<Array> arrays_;  // Sorted; none overlaps another.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_UPLOADS_H_
