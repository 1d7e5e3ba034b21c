// What a program is made with, and the pieces that it is made of.
#ifndef VRAMSPAN_TESTS_ODD_TOOLS_H_
#define VRAMSPAN_TESTS_ODD_TOOLS_H_

#include <cuda.h>

#include <deque>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/odd/draw.h"
#include "tests/odd/machine.h"
#include "tests/odd/memory.h"

namespace odd {

// A launch that took an address from a table: another like it is given the same parameters.
struct TableLaunch {
  size_t table = 0, at = 0, count = 0;  // 0 words: there was none.
  Word value = 0;
  unsigned pause = 0;
};

struct Tools {
  const Machine& machine;
  Draw& draw;
  Memory& memory;
  std::set<std::string> known = {};      // Kernels of which the proven code is used.
  std::deque<Word> host = {};            // What copies read: it stays.
  size_t globals = 0, pinned_words = 0;  // In use, of the module's variable and of host memory.
  TableLaunch last_table = {};

  CUfunction Kernel(const std::string& name) const {
    return machine.Kernel(name, known.count(name) != 0);
  }
  std::string NameOf(const std::string& name) const {
    return known.count(name) != 0 ? name : name + "_new";
  }
  Word* HostWord(Word value) { return &host.emplace_back(value); }
  // One that nobody has, or an old one where all are used up: nullptr.
  Word* PinnedWord(Word value) {
    if (pinned_words == Machine::kPinnedWords) return nullptr;
    Word* const word = machine.pinned() + pinned_words++;
    *word = value;
    return word;
  }
};

// One call of the driver, and what it does to the words of arrays.
struct Item {
  std::string text;
  std::vector<size_t> arrays;
  std::function<void(CUstream)> submit;
  std::function<void()> effect;
};
// What goes into one stream, one behind the other.
using Bundle = std::vector<Item>;

struct Shape {
  unsigned grid_y = 1;
  bool by_config = false;  // By cuLaunchKernelEx.
};

template <typename... Parameters>
std::function<void(CUstream)> LaunchOf(CUfunction kernel, Shape shape, Parameters... parameters) {
  return [=](CUstream stream) {
    std::tuple<Parameters...> copies(parameters...);
    void* addresses[sizeof...(Parameters)];
    std::apply(
        [&](auto&... each) {
          size_t i = 0;
          ((addresses[i++] = &each), ...);
        },
        copies);
    if (!shape.by_config) {
      ODD_CU(cuLaunchKernel(kernel, 1, shape.grid_y, 1, 1, 1, 1, 0, stream, addresses, nullptr));
      return;
    }
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimZ = config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    config.gridDimY = shape.grid_y;
    config.hStream = stream;
    ODD_CU(cuLaunchKernelEx(&config, kernel, addresses, nullptr));
  };
}

inline void AddToSlice(Memory* memory, const Slice& slice, Word value) {
  Array& a = (*memory)[slice.array];
  for (size_t i = slice.first; i < slice.first + slice.count; ++i) a.Set(i, a.Get(i) + value);
}
inline std::string TextOf(const Slice& s) {
  return std::to_string(s.array) + "[" + std::to_string(s.first) + "+" + std::to_string(s.count) +
         "]";
}

}  // namespace odd

#endif  // VRAMSPAN_TESTS_ODD_TOOLS_H_
