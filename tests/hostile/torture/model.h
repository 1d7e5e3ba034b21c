// What a program's memory must hold, told in a few numbers a cell, so that any word can be checked
// at any time.
#ifndef VRAMSPAN_TESTS_HOSTILE_TORTURE_MODEL_H_
#define VRAMSPAN_TESTS_HOSTILE_TORTURE_MODEL_H_

#include <cuda.h>

#include <cstddef>
#include <vector>

#include "tests/kernels/test_kernels.h"

namespace torture {

using Word = unsigned long long;
constexpr size_t kCellWords = 512;
constexpr size_t kCellBytes = kCellWords * sizeof(Word);

// Word i is HashWord(first + i, seed) + add, or `add` everywhere (plain).
struct Cell {
  Word seed = 0;
  Word first = 0;
  Word add = 0;
  bool plain = false;
  bool known = false;  // Otherwise nothing is asked of it.

  Word At(size_t i) const { return (plain ? 0 : vramspan_test::HashWord(first + i, seed)) + add; }
};

enum class Kind { kPlain, kPool, kVmm };

// Physical memory of the program's own, and where it is mapped in the array.
struct Piece {
  CUmemGenericAllocationHandle handle = 0;
  size_t bytes = 0;
};

// A second mapping of one of an array's pieces.
struct Alias {
  CUdeviceptr ptr = 0;
  size_t piece = 0;
};

// Adds `value` to some cells of the array it belongs to.
struct Graph {
  CUgraph source = nullptr;
  CUgraphExec exec = nullptr;
  CUgraphNode node = nullptr;
  size_t at = 0, cells = 0;
  Word value = 0;
};

// Memory, and the stream (a lane of its owner's) that all work on it is in.
struct Array {
  Kind kind = Kind::kPlain;
  CUdeviceptr ptr = 0;
  int lane = 0;
  std::vector<Cell> content;
  Graph graph;
  size_t reserved = 0;  // kVmm, as all below.
  bool exportable = false;
  std::vector<Piece> pieces;
  Alias alias;

  size_t cells() const { return content.size(); }
  size_t bytes() const { return content.size() * kCellBytes; }
  CUdeviceptr CellAt(size_t i) const { return ptr + i * kCellBytes; }
};

struct Slice {
  size_t at = 0, cells = 0;
};

}  // namespace torture

#endif  // VRAMSPAN_TESTS_HOSTILE_TORTURE_MODEL_H_
