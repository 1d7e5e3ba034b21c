#include "tools/simcuda/modules/kernel_op.h"

#include <cstdint>
#include <cstring>

#include "tools/simcuda/driver.h"
#include "tools/simcuda/memory/reach.h"
#include "tools/simcuda/modules/limits.h"
#include "tools/simcuda/modules/occupancy.h"

namespace simcuda {
namespace {

bool InLimits(const abi::Extent& extent, const unsigned (&limits)[3]) {
  return extent.x >= 1 && extent.y >= 1 && extent.z >= 1 && extent.x <= limits[0] &&
         extent.y <= limits[1] && extent.z <= limits[2];
}

CUresult CheckShape(Function& function, const LaunchShape& shape) {
  if (!InLimits(shape.grid, kMaxGridDim) || !InLimits(shape.block, kMaxBlockDim)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const uint64_t threads = uint64_t{shape.block.x} * shape.block.y * shape.block.z;
  if (threads > kMaxThreadsPerBlock) return CUDA_ERROR_INVALID_VALUE;
  const int max_shared = function.settings().max_dynamic_shared;
  if (shape.shared_bytes > static_cast<unsigned>(max_shared)) return CUDA_ERROR_INVALID_VALUE;
  if (shape.cooperative) {
    const uint64_t blocks = uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z;
    const int resident = ActiveBlocks(static_cast<int>(threads), shape.shared_bytes);
    if (blocks > static_cast<uint64_t>(resident) * kMultiprocessors) {
      return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    }
  }
  return CUDA_SUCCESS;
}

// Finds the buffer that `extra` describes.
CUresult ReadExtra(void** extra, const char** buffer, size_t* size) {
  const size_t* given_size = nullptr;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      *buffer = static_cast<const char*>(extra[1]);
    } else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      given_size = static_cast<const size_t*>(extra[1]);
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  if (*buffer == nullptr || given_size == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *size = *given_size;
  return CUDA_SUCCESS;
}

}  // namespace

KernelOp::KernelOp(const Function& function, CUfunction handle, const LaunchShape& shape)
    : Op(OpKind::kKernel),
      image_(function.module().image()),
      code_(function.code()),
      handle_(handle),
      shape_(shape),
      params_((code_.param_bytes + sizeof(Unit) - 1) / sizeof(Unit)) {
  char* packed = reinterpret_cast<char*>(params_.data());
  for (const abi::Param& param : code_.params) pointers_.push_back(packed + param.offset);
}

CUresult KernelOp::Create(Function& function, CUfunction handle, const LaunchShape& shape,
                          void** params, void** extra, KernelOpPtr* op) {
  CUresult result = CheckShape(function, shape);
  if (result != CUDA_SUCCESS) return result;
  if (params != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<KernelOp> made(new KernelOp(function, handle, shape));
  const Image::Kernel& code = function.code();
  if (params != nullptr) {
    for (size_t i = 0; i < code.params.size(); ++i) {
      if (params[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
      memcpy(made->pointers_[i], params[i], code.params[i].size);
    }
  } else if (extra != nullptr) {
    const char* buffer = nullptr;
    size_t size = 0;
    result = ReadExtra(extra, &buffer, &size);
    if (result != CUDA_SUCCESS) return result;
    if (size < code.param_bytes) return CUDA_ERROR_INVALID_VALUE;
    if (code.param_bytes != 0) memcpy(made->params_.data(), buffer, code.param_bytes);
  } else if (!code.params.empty()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *op = std::move(made);
  return CUDA_SUCCESS;
}

// Memory is the process's here, so what another device may not touch is told by the pointers that a
// kernel is given, whether or not it would go there.
bool KernelOp::ReachesItsMemory(const Context& by) const {
  if (Driver::Get().device_count() == 1) return true;
  const auto* const words = reinterpret_cast<const CUdeviceptr*>(params_.data());
  for (size_t i = 0; i < code_.param_bytes / sizeof(*words); ++i) {
    if (!memory::KernelReaches(by, words[i])) return false;
  }
  return true;
}

CUresult KernelOp::Run(const Exec& exec) const {
  if (!ReachesItsMemory(exec.context())) return CUDA_ERROR_ILLEGAL_ADDRESS;
  code_.invoke(params_.data(), &shape_.grid, &shape_.block);
  return CUDA_SUCCESS;
}

}  // namespace simcuda
