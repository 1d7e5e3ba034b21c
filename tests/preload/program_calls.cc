#include "tests/preload/program_calls.h"

#include <cudaTypedefs.h>

#include <cstdio>

namespace {

const char* Words(Told told) {
  switch (told) {
    case Told::kNothing:
      return "nothing";
    case Told::kOther:
      return "other memory";
    case Told::kNamed:
      return "the memory";
    default:
      return "nobody knows what";
  }
}

}  // namespace

CUDA_MEMCPY3D CopyNode(CUdeviceptr at) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = at + 4096;
  copy.dstDevice = at;
  copy.WidthInBytes = 64;
  copy.Height = copy.Depth = 1;
  return copy;
}

CUDA_MEMSET_NODE_PARAMS FillNode(CUdeviceptr at) {
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = at;
  fill.elementSize = fill.height = 1;
  fill.width = 64;
  return fill;
}

Caller::Caller(Program* program) : p_(*program) {
  p_.Start();
  CHECK_OK(p_.api.MemAlloc(&memory_, kBytes));
  CHECK_OK(p_.api.MemAlloc(&marker_, kBytes));
  CHECK_OK(p_.api.MemsetD8(memory_, 0, kBytes));
  CHECK_OK(p_.api.CtxSynchronize());
}

Caller::~Caller() {
  CHECK_OK(p_.api.MemFree(marker_));
  CHECK_OK(p_.api.MemFree(memory_));
}

void Caller::Call(const std::string& name, Told told, const std::function<CUresult()>& call,
                  CUresult wanted) {
  p_.Launch(p_.fill_hash, marker_, 1, 0);
  CHECK_OK(p_.api.CtxSynchronize());  // Calls in other streams read what it writes.
  std::printf("call %s: %s\n", name.c_str(), Words(told));
  const CUresult result = call();
  if (result != wanted) Fail(name + " is " + std::to_string(result));
  CHECK_OK(p_.api.CtxSynchronize());
}

CUresult Caller::LaunchOn(CUdeviceptr value) const {
  CUdeviceptr words = marker_;
  size_t count = 1;
  void* params[] = {&words, &count, &value};
  return p_.api.LaunchKernel(p_.add_constant, 1, 1, 1, 32, 1, 1, 0, p_.stream, params, nullptr);
}

void CallStreams(Caller* c, bool per_thread) {
  const std::string suffix = per_thread ? "_ptsz" : "";
  const CUdeviceptr m = c->memory() + Caller::kBytes / 2;  // Where nothing was written.
  const CUstream s = c->stream();
  for (const std::string version : {"", "_v2"}) {
    const std::string end = version + suffix;
    c->Call("cuStreamWaitValue32" + end, Told::kNamed, [&] {
      return GET(cuStreamWaitValue32, "cuStreamWaitValue32" + end)(s, m, 0,
                                                                   CU_STREAM_WAIT_VALUE_GEQ);
    });
    c->Call("cuStreamWriteValue32" + end, Told::kNamed,
            [&] { return GET(cuStreamWriteValue32, "cuStreamWriteValue32" + end)(s, m, 7, 0); });
    c->Call("cuStreamWaitValue64" + end, Told::kNamed, [&] {
      return GET(cuStreamWaitValue64, "cuStreamWaitValue64" + end)(s, m, 0,
                                                                   CU_STREAM_WAIT_VALUE_GEQ);
    });
    c->Call("cuStreamWriteValue64" + end, Told::kNamed,
            [&] { return GET(cuStreamWriteValue64, "cuStreamWriteValue64" + end)(s, m, 7, 0); });
    CUstreamBatchMemOpParams op{};
    op.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    op.writeValue.address = m;
    c->Call("cuStreamBatchMemOp" + end, Told::kNamed,
            [&] { return GET(cuStreamBatchMemOp, "cuStreamBatchMemOp" + end)(s, 1, &op, 0); });
  }
}

void CallKernels(Caller* c, bool per_thread) {
  const std::string suffix = per_thread ? "_ptsz" : "";
  const CUstream s = c->stream();
  const CUfunction kernel = c->p().add_constant;
  CUdeviceptr words = c->memory();
  size_t count = 64;
  unsigned long long value = 1;
  void* params[] = {&words, &count, &value};
  c->Call("cuLaunchKernel" + suffix, Told::kNamed, [&] {
    return GET(cuLaunchKernel, "cuLaunchKernel" + suffix)(kernel, 1, 1, 1, 32, 1, 1, 0, s, params,
                                                          nullptr);
  });
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.hStream = s;
  c->Call("cuLaunchKernelEx" + suffix, Told::kNamed, [&] {
    return GET(cuLaunchKernelEx, "cuLaunchKernelEx" + suffix)(&config, kernel, params, nullptr);
  });
  c->Call("cuLaunchCooperativeKernel" + suffix, Told::kNamed, [&] {
    return GET(cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel" + suffix)(kernel, 1, 1, 1, 32,
                                                                                1, 1, 0, s, params);
  });
  if (per_thread) return;
  // Nobody reads what these are given.
  CUDA_LAUNCH_PARAMS one = {kernel, 1, 1, 1, 32, 1, 1, 0, s, params};
  c->Call("cuLaunchCooperativeKernelMultiDevice", Told::kUnknown, [&] {
    return Get<PFN_cuLaunchCooperativeKernelMultiDevice_v9000>(
        "cuLaunchCooperativeKernelMultiDevice")(&one, 1, 0);
  });
  CHECK_OK(Get<PFN_cuFuncSetBlockShape_v2000>("cuFuncSetBlockShape")(kernel, 32, 1, 1));
  CHECK_OK(Get<PFN_cuParamSetSize_v2000>("cuParamSetSize")(kernel, 24));
  const auto set = Get<PFN_cuParamSetv_v2000>("cuParamSetv");
  CHECK_OK(set(kernel, 0, &words, sizeof(words)));
  CHECK_OK(set(kernel, 8, &count, sizeof(count)));
  CHECK_OK(set(kernel, 16, &value, sizeof(value)));
  c->Call("cuLaunch", Told::kUnknown, [&] { return Get<PFN_cuLaunch_v2000>("cuLaunch")(kernel); });
  c->Call("cuLaunchGrid", Told::kUnknown,
          [&] { return Get<PFN_cuLaunchGrid_v2000>("cuLaunchGrid")(kernel, 1, 1); });
  c->Call("cuLaunchGridAsync", Told::kUnknown,
          [&] { return Get<PFN_cuLaunchGridAsync_v2000>("cuLaunchGridAsync")(kernel, 1, 1, s); });
}

void MakeCalls(Program* p) {
  Caller c(p);
  for (const bool per_thread : {false, true}) {
    CallCopies(&c, per_thread);
    CallStreams(&c, per_thread);
    CallKernels(&c, per_thread);
    CallGraphs(&c, per_thread);
  }
  CallObjects(&c);
  CallModules(&c);
}
