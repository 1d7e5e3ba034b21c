// Kernels of the odd programs. All but odd_walk come twice, as NAME and as NAME_new: trust files
// prove the first. One thread does everything, whatever the grid, and takes as long as it is told.
#include "tests/odd/odd_kernels.h"

using odd::Block;
using odd::Op;
using odd::Packed;
using odd::Step;
using odd::Target;
using odd::Word;

namespace {

__device__ bool First() {
  return (blockIdx.x | blockIdx.y | blockIdx.z | threadIdx.x | threadIdx.y | threadIdx.z) == 0;
}

__device__ void Pause(size_t i, unsigned pause) {
  if (pause != 0 && i % 8 == 0) __nanosleep(pause);
}

__device__ void Add(Word* words, size_t count, Word value, unsigned pause) {
  if (!First()) return;
  for (size_t i = 0; i < count; ++i) {
    Pause(i, pause);
    words[i] += value;
  }
}

__device__ Word* At(size_t address) { return reinterpret_cast<Word*>(address); }

}  // namespace

#define ODD_BOTH(name, parameters, ...)                                         \
  extern "C" __global__ void name parameters{__VA_ARGS__} SIMCUDA_EXPORT(name); \
  extern "C" __global__ void name##_new parameters{__VA_ARGS__} SIMCUDA_EXPORT(name##_new)

// Honest ones.

ODD_BOTH(plain_add, (Word * words, size_t count, Word value, unsigned pause),
         Add(words, count, value, pause););

ODD_BOTH(
    plain_copy, (Word * to, const Word* from, size_t count, unsigned pause), if (!First()) return;
    for (size_t i = 0; i < count; ++i) {
      Pause(i, pause);
      to[i] = from[i];
    });

ODD_BOTH(
    plain_sum, (Word * to, const Word* left, const Word* right, size_t count, unsigned pause),
    if (!First()) return;
    for (size_t i = 0; i < count; ++i) {
      Pause(i, pause);
      to[i] = left[i] + right[i];
    });

ODD_BOTH(plain_store, (Word * table, size_t at, Word masked),
         if (First()) table[at] = masked ^ odd::kMask;);

// Addresses in the forms that are found (docs/overlap.md).

ODD_BOTH(odd_packed, (Packed packed, size_t count, Word value, unsigned pause),
         Add(packed.words, count, value, pause););

ODD_BOTH(odd_in_front, (Word * words, size_t first, size_t count, Word value, unsigned pause),
         Add(words + first, count, value, pause););

ODD_BOTH(odd_apart,
         (Word * other, long long apart, unsigned element, size_t first, size_t count, Word value,
          unsigned pause),
         Add(At(reinterpret_cast<size_t>(other) + static_cast<size_t>(apart * element)) + first,
             count, value, pause););

ODD_BOTH(odd_halves,
         (unsigned low, unsigned few, unsigned pause, unsigned more, unsigned high, Word value),
         Add(At(size_t{high} << 32 | low), few + more, value, pause););

ODD_BOTH(odd_tagged, (size_t tagged, size_t count, Word value, unsigned pause),
         Add(At(tagged << 16 >> 16 & ~size_t{7}), count, value, pause););

ODD_BOTH(odd_page, (size_t page, unsigned shift, size_t count, Word value, unsigned pause),
         Add(At(page << shift), count, value, pause););

ODD_BOTH(odd_table, (Word* const* table, size_t at, size_t count, Word value, unsigned pause),
         Add(table[at], count, value, pause););

// In whatever form.

__device__ Word odd_globals[odd::kGlobals];
SIMCUDA_EXPORT_GLOBAL(odd_globals);

namespace {

__device__ Word Load(const unsigned char* from, unsigned bytes) {
  Word word = 0;
  for (unsigned i = 0; i < bytes; ++i) word |= Word{from[i]} << 8 * i;
  return word;
}

__device__ Word SwapBytes(Word word) {
  Word swapped = 0;
  for (unsigned i = 0; i < 8; ++i) swapped |= (word >> 8 * i & 255) << (56 - 8 * i);
  return swapped;
}

__device__ Word Combine(Op op, Word left, Word right) {
  if (op == Op::kAdd) return left + right;
  if (op == Op::kXor) return left ^ right;
  if (op == Op::kOr) return left | right;
  return left * right;
}

__device__ Word Change(const Step& step, Word word) {
  switch (step.op) {
    case Op::kLoad:
      return Load(reinterpret_cast<const unsigned char*>(word), step.arg);
    case Op::kRotate:
      return word << step.arg | word >> (64 - step.arg);
    case Op::kShiftLeft:
      return word << step.arg;
    case Op::kShiftRight:
      return word >> step.arg;
    case Op::kSign:
      return static_cast<Word>(static_cast<long long>(static_cast<int>(word)));
    case Op::kNot:
      return ~word;
    default:
      return SwapBytes(word);
  }
}

__device__ Word* Walk(const Block& block, const Target& target) {
  Word stack[Block::kStack];
  unsigned height = 0;
  for (unsigned i = target.begin; i < target.end; ++i) {
    const Step& step = block.steps[i];
    if (step.op == Op::kParam) {
      stack[height++] = Load(&block.data[step.at], step.arg);
    } else if (step.op == Op::kGlobal) {
      stack[height++] = odd_globals[step.at];
    } else if (step.op == Op::kGrid) {
      stack[height++] = gridDim.y;
    } else if (step.op >= Op::kAdd && step.op <= Op::kMultiply) {
      --height;
      stack[height - 1] = Combine(step.op, stack[height - 1], stack[height]);
    } else {
      stack[height - 1] = Change(step, stack[height - 1]);
    }
  }
  return At(stack[0]);
}

}  // namespace

extern "C" __global__ void odd_walk(Block block) {
  if (!First()) return;
  if (block.gathers != 0) {
    Word* const to = Walk(block, block.targets[0]);
    const Word* const from = Walk(block, block.targets[1]);
    for (size_t i = 0; i < block.targets[0].count; ++i) {
      Pause(i, block.pause);
      to[i] = from[i] + block.value;
    }
    return;
  }
  for (unsigned t = 0; t < block.target_count; ++t) {
    Add(Walk(block, block.targets[t]), block.targets[t].count, block.value, block.pause);
  }
}
SIMCUDA_EXPORT(odd_walk);
