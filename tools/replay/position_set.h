// A set of numbers below a bound that knows its greatest: a bitmap, and above each level another
// that says which of its words are not empty. Every operation takes a step a level, which is four
// for 16 million and mostly stays in the cache, where a heap of as many would not.
//
// Takes 1 + 1/63 bits a number below the bound. Threads: not safe.
#ifndef VRAMSPAN_TOOLS_REPLAY_POSITION_SET_H_
#define VRAMSPAN_TOOLS_REPLAY_POSITION_SET_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace vramspan::replay {

class PositionSet {
 public:
  explicit PositionSet(size_t bound) {
    do {
      bound = (bound + 63) / 64;
      levels_.emplace_back(bound, 0);
    } while (bound > 1);
  }

  bool Contains(size_t n) const { return levels_[0][n / 64] >> (n % 64) & 1; }
  bool Empty() const { return levels_.back().empty() || levels_.back()[0] == 0; }

  void Insert(size_t n) {
    for (std::vector<uint64_t>& level : levels_) {
      uint64_t& word = level[n / 64];
      const bool was_empty = word == 0;
      word |= uint64_t{1} << (n % 64);
      if (!was_empty) return;
      n /= 64;
    }
  }
  void Erase(size_t n) {
    for (std::vector<uint64_t>& level : levels_) {
      uint64_t& word = level[n / 64];
      word &= ~(uint64_t{1} << (n % 64));
      if (word != 0) return;
      n /= 64;
    }
  }
  // REQUIRES: not empty.
  size_t Greatest() const {
    size_t n = 0;
    for (size_t level = levels_.size(); level-- > 0;) {
      n = n * 64 + 63 - static_cast<size_t>(std::countl_zero(levels_[level][n]));
    }
    return n;
  }

 private:
  std::vector<std::vector<uint64_t>> levels_;  // From the bitmap itself up to a single word.
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_POSITION_SET_H_
