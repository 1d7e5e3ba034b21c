// A program's arrays, and what each of their words must be.
//
// The first quarter of an array takes hidden words, each once. The second is never written. Adding
// and copying happen in the rest.
#ifndef VRAMSPAN_TESTS_ODD_MEMORY_H_
#define VRAMSPAN_TESTS_ODD_MEMORY_H_

#include <cuda.h>

#include <map>
#include <string>
#include <vector>

#include "include/vramspan/vramspan.h"
#include "tests/odd/draw.h"
#include "tests/odd/odd_kernels.h"

namespace odd {

struct Array {
  CUdeviceptr at = 0;
  size_t words = 0;
  size_t pattern = 0;  // Where in the pattern it begins.
  std::map<size_t, Word> changed;
  size_t last_stream = 0;  // All that was done with it so far is in front of what that does next.

  size_t bytes() const { return words * sizeof(Word); }
  CUdeviceptr AddressOf(size_t word) const { return at + word * sizeof(Word); }
  Word Get(size_t word) const;
  void Set(size_t word, Word value) { changed[word] = value; }
};

// Words of an array: what a kernel adds to, say.
struct Slice {
  size_t array = 0;
  size_t first = 0, count = 0;
};

class Memory {
 public:
  Memory(vramspanRuntime runtime, Draw* draw) : runtime_(runtime), draw_(*draw) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void Allocate();  // One more array, filled.
  void FreeAll();
  // Frees it and allocates another. REQUIRES: nothing is under way that uses it.
  void Replace(size_t array);
  // Throws Failure for the first wrong word. REQUIRES: nothing that writes it is under way.
  void CheckWords(size_t array);
  // Chunks of arrays at whose addresses nothing is mapped now.
  size_t Unmapped() const;

  size_t size() const { return arrays_.size(); }
  Array& operator[](size_t i) { return arrays_[i]; }
  const Array& operator[](size_t i) const { return arrays_[i]; }

  size_t Some() { return draw_.Below(arrays_.size()); }
  size_t SomeBut(size_t array) { return (array + 1 + draw_.Below(size() - 1)) % size(); }
  Slice SomeSlice(size_t array, size_t count);
  size_t Constant(size_t array) {
    const size_t quarter = arrays_[array].words / 4;
    return quarter + draw_.Below(quarter);
  }
  size_t NewSlot(size_t array);

 private:
  void Make(Array* a);

  const vramspanRuntime runtime_;
  Draw& draw_;
  std::vector<Array> arrays_;
  std::vector<Word> read_;
};

}  // namespace odd

#endif  // VRAMSPAN_TESTS_ODD_MEMORY_H_
