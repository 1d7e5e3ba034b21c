#include <algorithm>

#include "runtime/observe/hidden_pointers.h"
#include "runtime/observe/knowledge.h"

namespace vramspan {
namespace {

// Copies of more rows than this are not read for pointers: tables of them come in few.
constexpr uint64_t kMostRowsScanned = 256;

struct Shape {
  uint64_t width = 0, rows = 0, layers = 0;
};

// One side of a copy: rows `pitch` apart, in layers of `layer_rows`.
struct Side {
  bool array = false;
  bool maybe_host = false;
  uint64_t first = 0;  // The first byte.
  uint64_t pitch = 0, layer_rows = 0;

  uint64_t RowAt(uint64_t row, uint64_t layer) const {
    return first + (layer * layer_rows + row) * pitch;
  }
  bool IsLinear(const Shape& shape) const {
    if (shape.layers > 1 && layer_rows != shape.rows) return false;
    return (shape.rows == 1 && shape.layers == 1) || pitch == shape.width;
  }
};

Side MakeSide(const PitchedOperand& operand, const Shape& shape) {
  Side side;
  side.array = operand.type == CU_MEMORYTYPE_ARRAY;
  side.maybe_host = operand.type == CU_MEMORYTYPE_HOST || operand.type == CU_MEMORYTYPE_UNIFIED;
  side.pitch = operand.pitch != 0 ? operand.pitch : shape.width;
  side.layer_rows = operand.height != 0 ? operand.height : shape.rows;
  const uint64_t base = operand.type == CU_MEMORYTYPE_HOST
                            ? reinterpret_cast<uintptr_t>(operand.host)
                            : operand.device;
  side.first = base + (operand.z * side.layer_rows + operand.y) * side.pitch + operand.x;
  return side;
}

void AddSide(const Knowledge& known, const Side& side, const Shape& shape, bool write,
             Submission* out) {
  if (side.array) return;
  const uint64_t end = side.RowAt(shape.rows - 1, shape.layers - 1) + shape.width;
  if (end <= side.first) return;  // No copy that the driver would do.
  AddRange(known, side.first, end - side.first, write, side.IsLinear(shape), out);
}

void AddHostCopies(const Knowledge& known, const Side& target, const Side& source,
                   const Shape& shape, Submission* out) {
  // A program may ask for any numbers; the driver refuses what is too much.
  uint64_t rows = 0, bytes = 0;
  if (__builtin_mul_overflow(shape.rows, shape.layers, &rows) ||
      __builtin_mul_overflow(rows, shape.width, &bytes) ||
      bytes > HiddenPointers::kMostScanned.value) {
    return;
  }
  const ArenaSet& arenas = known.arenas.set();
  const auto add = [&](uint64_t row, uint64_t layer, uint64_t size) {
    const uint64_t from = source.RowAt(row, layer);
    if (from == 0 || arenas.Has(from)) return;
    out->host_copies.push_back(
        {reinterpret_cast<const void*>(from), DevicePtr(target.RowAt(row, layer)), Bytes(size)});
  };
  if (target.IsLinear(shape) && source.IsLinear(shape)) {
    add(0, 0, bytes);
    return;
  }
  if (rows > kMostRowsScanned) return;
  for (uint64_t layer = 0; layer < shape.layers; ++layer) {
    for (uint64_t row = 0; row < shape.rows; ++row) add(row, layer, shape.width);
  }
}

}  // namespace

void AddPitchedCopy(const Knowledge& known, const PitchedCopy& copy, Submission* out) {
  const Shape shape = {copy.width, copy.rows, copy.layers};
  if (shape.width == 0 || shape.rows == 0 || shape.layers == 0) return;
  const Side target = MakeSide(copy.target, shape);
  const Side source = MakeSide(copy.source, shape);
  AddSide(known, target, shape, /*write=*/true, out);
  AddSide(known, source, shape, /*write=*/false, out);
  if (!target.array && !source.array && source.maybe_host) {
    AddHostCopies(known, target, source, shape, out);
  }
}

}  // namespace vramspan
