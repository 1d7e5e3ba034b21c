// A set of chunks, as bits: an eighth of a byte for each index up to the highest.
//
// Threads: not safe.
#ifndef VRAMSPAN_RUNTIME_SPACE_CHUNK_SET_H_
#define VRAMSPAN_RUNTIME_SPACE_CHUNK_SET_H_

#include <bit>
#include <cstdint>
#include <vector>

#include "runtime/base/grow.h"
#include "runtime/base/units.h"

namespace vramspan {

class ChunkSet {
 public:
  void Add(ChunkIndex chunk) {
    const size_t word = chunk.value / 64;
    if (word >= words_.size()) GrowTo(words_, word + 1);
    words_[word] |= uint64_t{1} << (chunk.value % 64);
    empty_ = false;
  }
  bool empty() const { return empty_; }
  // Calls `visit` with each, in the order of the indices, and leaves none.
  template <typename Visit>
  void Drain(Visit visit) {
    if (empty_) return;
    empty_ = true;
    for (size_t word = 0; word < words_.size(); ++word) {
      for (uint64_t bits = words_[word]; bits != 0; bits &= bits - 1) {
        visit(ChunkIndex(static_cast<uint32_t>(word * 64) +
                         static_cast<uint32_t>(std::countr_zero(bits))));
      }
      words_[word] = 0;
    }
  }

 private:
  std::vector<uint64_t> words_;
  bool empty_ = true;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SPACE_CHUNK_SET_H_
