// What a seed draws: the same with every library.
#ifndef VRAMSPAN_TESTS_ODD_DRAW_H_
#define VRAMSPAN_TESTS_ODD_DRAW_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace odd {

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15ull + 1) {}

  uint64_t Word64() { return random_(); }
  size_t Below(size_t end) { return static_cast<size_t>(random_() % end); }
  size_t Between(size_t first, size_t last) { return first + Below(last - first + 1); }
  bool Percent(size_t percent) { return Below(100) < percent; }
  template <typename T>
  const T& Of(const std::vector<T>& some) {
    return some[Below(some.size())];
  }
  template <typename T>
  void Shuffle(std::vector<T>* some) {
    for (size_t i = some->size(); i > 1; --i) std::swap((*some)[i - 1], (*some)[Below(i)]);
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace odd

#endif  // VRAMSPAN_TESTS_ODD_DRAW_H_
