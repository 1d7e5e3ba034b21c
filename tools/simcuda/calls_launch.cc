#include "tools/simcuda/calls_launch.h"

#include "tools/simcuda/capture.h"
#include "tools/simcuda/modules/kernel_op.h"
#include "tools/simcuda/modules/module.h"
#include "tools/simcuda/thread.h"

namespace simcuda::calls {
namespace {

CUresult Launch(CUfunction handle, const LaunchShape& shape, CUstream stream_handle, void** params,
                void** extra) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  StreamPtr stream;
  CUresult result = FindStream(stream_handle, &stream);
  if (result != CUDA_SUCCESS) return result;
  FunctionPtr function;
  result = FindLaunchable(handle, stream->context(), &function);
  if (result != CUDA_SUCCESS) return result;
  KernelOpPtr op;
  result = KernelOp::Create(*function, handle, shape, params, extra, &op);
  if (result != CUDA_SUCCESS) return result;
  function->LoadForLaunch();
  return stream->Submit(std::move(op));
}

// What the attributes ask for beyond a plain launch.
struct Extras {
  bool cooperative = false;
  CUevent event = nullptr;
};

CUresult ReadAttributes(const CUlaunchConfig& config, Extras* extras) {
  if (config.numAttrs != 0 && config.attrs == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttributeValue& value = config.attrs[i].value;
    switch (config.attrs[i].id) {
      case CU_LAUNCH_ATTRIBUTE_IGNORE:
      case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        break;
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        extras->cooperative = value.cooperative != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: {
        const auto& cluster = value.clusterDim;
        if (cluster.x == 0 || cluster.y == 0 || cluster.z == 0 ||
            config.gridDimX % cluster.x != 0 || config.gridDimY % cluster.y != 0 ||
            config.gridDimZ % cluster.z != 0) {
          return CUDA_ERROR_INVALID_VALUE;
        }
        if (uint64_t{cluster.x} * cluster.y * cluster.z > 16) {
          return CUDA_ERROR_INVALID_CLUSTER_SIZE;
        }
        break;
      }
      // The kernel's end is the only moment that there is.
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        extras->event = value.programmaticEvent.event;
        break;
      case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        extras->event = value.launchCompletionEvent.event;
        break;
      case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        if (value.deviceUpdatableKernelNode.deviceUpdatable != 0) return CUDA_ERROR_NOT_SUPPORTED;
        break;
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult LaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                      CUstream stream, void** params, void** extra) {
  const LaunchShape shape = {
      {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, false};
  return Launch(function, shape, stream, params, extra);
}

CUresult LaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** params,
                        void** extra) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Extras extras;
  CUresult result = ReadAttributes(*config, &extras);
  if (result != CUDA_SUCCESS) return result;
  EventPtr event;
  if (extras.event != nullptr) result = FindEvent(extras.event, &event);
  if (result != CUDA_SUCCESS) return result;
  const LaunchShape shape = {{config->gridDimX, config->gridDimY, config->gridDimZ},
                             {config->blockDimX, config->blockDimY, config->blockDimZ},
                             config->sharedMemBytes,
                             extras.cooperative};
  result = Launch(function, shape, config->hStream, params, extra);
  if (result != CUDA_SUCCESS || !event) return result;
  StreamPtr stream;
  result = FindStream(config->hStream, &stream);
  bool handled = false;
  if (result == CUDA_SUCCESS) result = capture::OnEventRecord(*stream, event, 0, &handled);
  return result != CUDA_SUCCESS || handled ? result : event->SubmitRecord(*stream);
}

CUresult LaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared_bytes, CUstream stream,
                                 void** params) {
  const LaunchShape shape = {
      {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, true};
  return Launch(function, shape, stream, params, nullptr);
}

}  // namespace simcuda::calls
