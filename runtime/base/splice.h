// Elements of a vector that make way for others, where places in front of its first element are
// free: what is less moves, what is before them or what is behind.
#ifndef VRAMSPAN_RUNTIME_BASE_SPLICE_H_
#define VRAMSPAN_RUNTIME_BASE_SPLICE_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace vramspan {

// Of `size` elements, the first at `begin`, `gone` from `at` on make way for `came` others.
struct Splice {
  Splice(size_t first, size_t place, size_t less, size_t more, size_t size)
      : begin(first),
        at(place),
        gone(less),
        came(more),
        moves_front(at - begin < size - at - gone && begin + gone >= came) {}

  const size_t begin, at, gone, came;
  const bool moves_front;

  // `begin` and `at`, after it.
  size_t NewBegin() const { return moves_front ? begin + gone - came : begin; }
  size_t NewAt() const { return moves_front ? at + gone - came : at; }
  // What came is to be filled in.
  template <typename T>
  void Move(std::vector<T>* all) const {
    const auto place = [all](size_t i) { return all->begin() + static_cast<ptrdiff_t>(i); };
    if (!moves_front && came >= gone) {
      all->insert(place(at), came - gone, T());
    } else if (!moves_front) {
      all->erase(place(at), place(at + gone - came));
    } else if (came >= gone) {
      std::move(place(begin), place(at), place(NewBegin()));
    } else {
      std::move_backward(place(begin), place(at), place(NewAt()));
    }
  }
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_SPLICE_H_
