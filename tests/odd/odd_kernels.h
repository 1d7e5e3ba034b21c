// Parameters of tests/odd/odd_kernels.cu. Compiled by the C++ compiler and by nvcc.
#ifndef VRAMSPAN_TESTS_ODD_ODD_KERNELS_H_
#define VRAMSPAN_TESTS_ODD_ODD_KERNELS_H_

#include <cstddef>

namespace odd {

using Word = unsigned long long;

// How odd_walk comes by an address: steps for a machine with a stack of words.
enum class Op : unsigned char {
  kParam,   // Pushes `arg` bytes of the block's data at `at`, as a number without a sign.
  kGlobal,  // Pushes word `at` of the module's variable odd_globals.
  kGrid,    // Pushes gridDim.y.
  kLoad,    // Replaces the top by what lies at that address: `arg` bytes.
  // Replace the upper two by one.
  kAdd,
  kXor,
  kOr,
  kMultiply,
  // Replace the top.
  kRotate,      // Left by `arg` bits.
  kShiftLeft,   // By `arg` bits.
  kShiftRight,  // Likewise.
  kSign,        // The sign of the lower 32 bits is spread.
  kNot,
  kSwapBytes,
};

struct Step {
  Op op;
  unsigned char arg;
  unsigned short at;
};

// Some words of an array, and where the steps to its address begin and end.
struct Target {
  unsigned short begin, end;
  unsigned count;
};

// The one parameter of odd_walk.
struct Block {
  static constexpr size_t kData = 768;
  static constexpr size_t kSteps = 64;
  static constexpr size_t kTargets = 3;
  static constexpr size_t kStack = 24;

  unsigned char data[kData];
  Step steps[kSteps];
  Target targets[kTargets];
  unsigned target_count;
  // 0: adds `value` to all targets. 1: makes the first what the second is, and adds to it.
  unsigned gathers;
  Word value;
  unsigned pause;  // Nanoseconds, again and again.
};

#pragma pack(push, 1)
struct Packed {
  unsigned char tag[3];
  Word* words;
  unsigned short rest;
};
#pragma pack(pop)

// What plain_store is given in place of a word, so that nobody sees an address go by.
inline constexpr Word kMask = 0x5a5a5a5a5a5a5a5aull;
inline constexpr size_t kGlobals = 4096;

}  // namespace odd

#ifndef SIMCUDA_EXPORT  // not in the kernels themselves
#include "tools/simcuda/kernel_images.h"

SIMCUDA_DECLARE_KERNELS(odd_kernels);
#endif

#endif  // VRAMSPAN_TESTS_ODD_ODD_KERNELS_H_
