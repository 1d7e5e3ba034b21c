// Launches by the calls from before cuLaunchKernel: a function's block shape and parameters are set
// piece by piece and kept, and a launch takes them as they are at that moment. What the driver
// checks, and when, follows the documentation.

#include <cstring>
#include <utility>

#include "tools/simcuda/calls_launch.h"
#include "tools/simcuda/modules/module.h"

namespace simcuda::calls {
namespace {

constexpr unsigned kMostParamBytes = 4096;

CUresult Change(CUfunction handle, const std::function<void(OldLaunch&)>& change) {
  FunctionPtr function;
  const CUresult result = FindFunctionHandle(handle, &function);
  if (result == CUDA_SUCCESS) function->ChangeOldLaunch(change);
  return result;
}

}  // namespace

CUresult FuncSetBlockShape(CUfunction function, int x, int y, int z) {
  if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
  const abi::Extent block = {static_cast<unsigned>(x), static_cast<unsigned>(y),
                             static_cast<unsigned>(z)};
  return Change(function, [&](OldLaunch& launch) { launch.block = block; });
}

CUresult FuncSetSharedSize(CUfunction function, unsigned bytes) {
  return Change(function, [&](OldLaunch& launch) { launch.shared_bytes = bytes; });
}

CUresult ParamSetSize(CUfunction function, unsigned bytes) {
  if (bytes > kMostParamBytes) return CUDA_ERROR_INVALID_VALUE;
  return Change(function, [&](OldLaunch& launch) { launch.param_bytes = bytes; });
}

CUresult ParamSeti(CUfunction function, int offset, unsigned value) {
  return ParamSetv(function, offset, &value, sizeof(value));
}

CUresult ParamSetf(CUfunction function, int offset, float value) {
  return ParamSetv(function, offset, &value, sizeof(value));
}

CUresult ParamSetv(CUfunction function, int offset, void* value, unsigned bytes) {
  if (offset < 0 || value == nullptr || bytes > kMostParamBytes ||
      static_cast<unsigned>(offset) > kMostParamBytes - bytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return Change(function, [&](OldLaunch& launch) {
    const size_t end = static_cast<size_t>(offset) + bytes;
    if (launch.params.size() < end) launch.params.resize(end);
    memcpy(launch.params.data() + offset, value, bytes);
  });
}

CUresult LaunchOneBlock(CUfunction function) { return LaunchGrid(function, 1, 1); }

CUresult LaunchGrid(CUfunction function, int width, int height) {
  return LaunchGridAsync(function, width, height, CU_STREAM_LEGACY);
}

CUresult LaunchGridAsync(CUfunction handle, int width, int height, CUstream stream) {
  if (width <= 0 || height <= 0) return CUDA_ERROR_INVALID_VALUE;
  FunctionPtr function;
  if (const CUresult r = FindFunctionHandle(handle, &function); r != CUDA_SUCCESS) return r;
  OldLaunch launch = function->old_launch();
  launch.params.resize(launch.param_bytes);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, launch.params.data(),
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &launch.param_bytes, CU_LAUNCH_PARAM_END};
  return LaunchKernel(handle, static_cast<unsigned>(width), static_cast<unsigned>(height), 1,
                      launch.block.x, launch.block.y, launch.block.z, launch.shared_bytes, stream,
                      nullptr, launch.param_bytes != 0 ? extra : nullptr);
}

}  // namespace simcuda::calls
