// A program's streams, and the order among what they do with arrays.
#ifndef VRAMSPAN_TESTS_ODD_STREAMS_H_
#define VRAMSPAN_TESTS_ODD_STREAMS_H_

#include <cuda.h>

#include <vector>

#include "tests/odd/draw.h"
#include "tests/odd/machine.h"
#include "tests/odd/memory.h"

namespace odd {

// Stands for the module's variable where arrays are named.
inline constexpr size_t kVariable = ~size_t{0};

class Streams {
 public:
  // The last is for launches that are parked, and the first of all to capture.
  explicit Streams(size_t count);
  ~Streams();
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  CUstream operator[](size_t i) const { return streams_[i]; }
  size_t Some(Draw* draw) const { return draw->Below(streams_.size() - 2); }
  size_t parked() const { return streams_.size() - 2; }
  CUstream capturing() const { return streams_.back(); }

  // What the stream does next with these arrays comes behind what was done with them so far.
  void Use(size_t stream, const std::vector<size_t>& arrays, Memory* memory);
  void Wait() const;
  bool Idle(size_t but) const;  // All but one.

 private:
  std::vector<CUstream> streams_;
  CUevent event_ = nullptr;
  size_t variable_last_ = 0;
};

}  // namespace odd

#endif  // VRAMSPAN_TESTS_ODD_STREAMS_H_
