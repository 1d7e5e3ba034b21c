#include "runtime/observe/hidden_pointers.h"
#include "runtime/observe/knowledge.h"

namespace vramspan {
namespace {

// Of one batch, so that a large one is not read for longer than it takes to submit.
constexpr uint64_t kMostScannedOfBatch = 16 * HiddenPointers::kMostScanned.value;

// Something unknown of memory that starts here.
void AddStart(const Knowledge& known, uint64_t address, bool write, Submission* out) {
  if (!known.arenas.set().Has(address)) return;
  out->touches.push_back({.ptr = DevicePtr(address), .write = write, .linear = false});
}

PitchedOperand MakeOperand(const CUmemcpy3DOperand& operand) {
  if (operand.type != CU_MEMCPY_OPERAND_TYPE_POINTER) return {.type = CU_MEMORYTYPE_ARRAY};
  return {.type = CU_MEMORYTYPE_UNIFIED,
          .device = operand.op.ptr.ptr,
          .pitch = operand.op.ptr.rowLength,
          .height = operand.op.ptr.layerHeight};
}

}  // namespace

void AddCopyBatch(const Knowledge& known, const CUdeviceptr* targets, const CUdeviceptr* sources,
                  const size_t* sizes, size_t count, Submission* out) {
  if (targets == nullptr || sources == nullptr || sizes == nullptr) return;
  uint64_t scanned = 0;
  for (size_t i = 0; i < count; ++i) {
    scanned += sizes[i] <= HiddenPointers::kMostScanned.value ? sizes[i] : 0;
    const Source from = scanned <= kMostScannedOfBatch ? Source::kMaybeHost : Source::kDevice;
    AddCopy(known, targets[i], sources[i], sizes[i], from, out);
  }
}

void AddCopyBatch(const Knowledge& known, const CUDA_MEMCPY3D_BATCH_OP* ops, size_t count,
                  Submission* out) {
  if (ops == nullptr) return;
  for (size_t i = 0; i < count; ++i) {
    PitchedCopy copy;
    copy.target = MakeOperand(ops[i].dst);
    copy.source = MakeOperand(ops[i].src);
    if (copy.target.type == CU_MEMORYTYPE_ARRAY || copy.source.type == CU_MEMORYTYPE_ARRAY) {
      // Lengths are in the array's elements, whose size is not told.
      AddStart(known, copy.target.device, /*write=*/true, out);
      AddStart(known, copy.source.device, /*write=*/false, out);
      continue;
    }
    copy.width = ops[i].extent.width;
    copy.rows = ops[i].extent.height;
    copy.layers = ops[i].extent.depth;
    AddPitchedCopy(known, copy, out);
  }
}

void AddDecompression(const Knowledge& known, const CUmemDecompressParams* ops, size_t count,
                      Submission* out) {
  if (ops == nullptr) return;
  for (size_t i = 0; i < count; ++i) {
    const CUmemDecompressParams& op = ops[i];
    const auto target = reinterpret_cast<uintptr_t>(op.dst);
    AddRange(known, reinterpret_cast<uintptr_t>(op.src), op.srcNumBytes, /*write=*/false,
             /*linear=*/true, out);
    if (op.dstNumBytes != 0) {
      AddRange(known, target, op.dstNumBytes, /*write=*/true, /*linear=*/true, out);
    } else {
      AddStart(known, target, /*write=*/true, out);
    }
    AddRange(known, reinterpret_cast<uintptr_t>(op.dstActBytes), sizeof(*op.dstActBytes),
             /*write=*/true, /*linear=*/true, out);
  }
}

}  // namespace vramspan
