// What copies, fills, host functions and batches of memory operations do when their turn comes
// (op.h).
#include <cstring>

#include "tools/simcuda/fault.h"
#include "tools/simcuda/link.h"
#include "tools/simcuda/memory/pages.h"
#include "tools/simcuda/op.h"
#include "tools/simcuda/thread.h"
#include "tools/simcuda/value_wait.h"

namespace simcuda {
namespace {

template <typename T>
void FillRows(const FillShape& shape) {
  char* row = static_cast<char*>(shape.dst);
  const T value = static_cast<T>(shape.value);
  for (size_t y = 0; y < shape.height; ++y, row += shape.pitch) {
    T* out = reinterpret_cast<T*>(row);
    for (size_t x = 0; x < shape.width; ++x) out[x] = value;
  }
}

}  // namespace

CUresult MemcpyOp::Run(const Exec& exec) const {
  const char* src_plane = staged_.empty() ? static_cast<const char*>(shape_.src) : staged_.data();
  char* dst_plane = static_cast<char*>(shape_.dst);
  const LinkTurn turn(exec, src_plane, dst_plane, shape_.width * shape_.height * shape_.depth);
  if (shape_.height == 1 && shape_.depth == 1) {
    memory::Prefault(src_plane, shape_.width, /*write=*/false);
    memory::Prefault(dst_plane, shape_.width, /*write=*/true);
  }
  for (size_t z = 0; z < shape_.depth; ++z) {
    const char* src = src_plane;
    char* dst = dst_plane;
    for (size_t y = 0; y < shape_.height; ++y) {
      memmove(dst, src, shape_.width);
      src += shape_.src_pitch;
      dst += shape_.dst_pitch;
    }
    src_plane += shape_.src_slice;
    dst_plane += shape_.dst_slice;
  }
  return CUDA_SUCCESS;
}

CUresult MemsetOp::Run(const Exec& /*exec*/) const {
  if (shape_.height == 1) {
    memory::Prefault(shape_.dst, shape_.width * shape_.element_size, /*write=*/true);
  }
  switch (shape_.element_size) {
    case 1:
      for (size_t y = 0; y < shape_.height; ++y) {
        memset(static_cast<char*>(shape_.dst) + y * shape_.pitch, static_cast<int>(shape_.value),
               shape_.width);
      }
      break;
    case 2:
      FillRows<uint16_t>(shape_);
      break;
    default:
      FillRows<uint32_t>(shape_);
      break;
  }
  return CUDA_SUCCESS;
}

CUresult HostFuncOp::Run(const Exec& /*exec*/) const {
  const FaultGuardPause pause;
  Thread& thread = Thread::Self();
  thread.in_callback = true;
  fn_(user_data_);
  thread.in_callback = false;
  return CUDA_SUCCESS;
}

CUresult MemOpsOp::Run(const Exec& exec) const {
  for (const CUstreamBatchMemOpParams& param : params_) {
    switch (param.operation) {
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        AwaitValue(exec,
                   {param.waitValue.address, false, param.waitValue.flags, param.waitValue.value});
        break;
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        AwaitValue(exec,
                   {param.waitValue.address, true, param.waitValue.flags, param.waitValue.value64});
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        __atomic_store_n(reinterpret_cast<uint32_t*>(param.writeValue.address),
                         param.writeValue.value, __ATOMIC_RELEASE);
        ValueMayHaveChanged();
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        __atomic_store_n(reinterpret_cast<uint64_t*>(param.writeValue.address),
                         param.writeValue.value64, __ATOMIC_RELEASE);
        ValueMayHaveChanged();
        break;
      default:  // barriers and flushes: every op here is one
        break;
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace simcuda
