// One kernel on several devices at once. By default none begins before the earlier work of all the
// streams is done, and what comes after it in any of them waits for all the kernels.

#include <set>
#include <utility>
#include <vector>

#include "tools/simcuda/calls_launch.h"
#include "tools/simcuda/driver.h"
#include "tools/simcuda/event.h"
#include "tools/simcuda/modules/kernel_op.h"
#include "tools/simcuda/modules/module.h"
#include "tools/simcuda/thread.h"

namespace simcuda::calls {
namespace {

struct Part {
  StreamPtr stream;
  FunctionPtr function;
  KernelOpPtr op;
};

bool SameShape(const CUDA_LAUNCH_PARAMS& a, const CUDA_LAUNCH_PARAMS& b) {
  return a.gridDimX == b.gridDimX && a.gridDimY == b.gridDimY && a.gridDimZ == b.gridDimZ &&
         a.blockDimX == b.blockDimX && a.blockDimY == b.blockDimY && a.blockDimZ == b.blockDimZ &&
         a.sharedMemBytes == b.sharedMemBytes;
}

CUresult MakePart(const CUDA_LAUNCH_PARAMS& params, Part* part) {
  if (params.hStream == nullptr || params.hStream == CU_STREAM_LEGACY ||
      params.hStream == CU_STREAM_PER_THREAD) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUresult result = FindStream(params.hStream, &part->stream);
  if (result != CUDA_SUCCESS) return result;
  if (part->stream->capturing()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  result = FindLaunchable(params.function, part->stream->context(), &part->function);
  if (result != CUDA_SUCCESS) return result;
  const LaunchShape shape = {{params.gridDimX, params.gridDimY, params.gridDimZ},
                             {params.blockDimX, params.blockDimY, params.blockDimZ},
                             params.sharedMemBytes,
                             /*cooperative=*/true};
  return KernelOp::Create(*part->function, params.function, shape, params.kernelParams, nullptr,
                          &part->op);
}

CUresult KeepStep(const std::vector<Part>& parts) {
  if (parts.size() < 2) return CUDA_SUCCESS;
  std::vector<EventPtr> here;
  for (const Part& part : parts) {
    here.push_back(std::make_shared<Event>(part.stream->context(), CU_EVENT_DISABLE_TIMING));
    const CUresult r = here.back()->SubmitRecord(*part.stream);
    if (r != CUDA_SUCCESS) return r;
  }
  for (const Part& part : parts) {
    for (const EventPtr& event : here) {
      if (const CUresult r = event->SubmitWait(*part.stream); r != CUDA_SUCCESS) return r;
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult LaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS* list, unsigned devices,
                                            unsigned flags) {
  constexpr unsigned kKnown = CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC |
                              CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC;
  if (list == nullptr || devices == 0 || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Part> parts(devices);
  std::set<const Device*> taken;
  for (unsigned i = 0; i < devices; ++i) {
    if (const CUresult r = MakePart(list[i], &parts[i]); r != CUDA_SUCCESS) return r;
    const bool alone = taken.insert(&parts[i].stream->context()->device()).second;
    const bool same = parts[i].function->code().name == parts[0].function->code().name;
    if (!alone || !same || !SameShape(list[i], list[0])) return CUDA_ERROR_INVALID_VALUE;
  }
  for (const Part& part : parts) part.function->LoadForLaunch();
  CUresult result = CUDA_SUCCESS;
  if ((flags & CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC) == 0) {
    result = KeepStep(parts);
  }
  for (Part& part : parts) {
    if (result == CUDA_SUCCESS) result = part.stream->Submit(std::move(part.op));
  }
  if (result != CUDA_SUCCESS ||
      (flags & CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC) != 0) {
    return result;
  }
  return KeepStep(parts);
}

}  // namespace simcuda::calls
