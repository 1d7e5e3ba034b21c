// What a program may put into launches, copies and graphs, as the decoder reads them: the pointers
// that the driver would follow lead somewhere, and every number has any value. The input is a
// sequence of calls, a byte that says which and the bytes that its fields are filled with; what is
// short is zero.
#include <vector>

#include "runtime/base/log.h"
#include "runtime/observe/call_params.h"
#include "runtime/observe/decoder.h"
#include "tests/fuzz/launch_graph.h"
#include "tests/fuzz/launch_input.h"

// CUPTI's number of a call. A macro may not stand between: cuda.h redefines many of the names.
#define CALL(name) CUPTI_DRIVER_TRACE_CBID_##name

namespace {

using namespace vramspan;  // NOLINT

class Calls {
 public:
  explicit Calls(Input* in) : in_(*in), decoder_(TheWorld().driver), graph_(in) {
    decoder_.AddArena(DevicePtr(kArena), Bytes(kArenaSize));
  }
  ~Calls() {
    for (CUgraphExec exec : execs_) cuGraphExecDestroy(exec);
  }

  void One() {
    switch (in_.Pick(12)) {
      case 0:
        return Launch();
      case 1:
        return LaunchExtra();
      case 2: {
        const auto copy = in_.Take<CUDA_MEMCPY2D>();
        return Decode(in_.Pick(2) == 0 ? CALL(cuMemcpy2D_v2) : CALL(cuMemcpy2DUnaligned_v2),
                      cuMemcpy2D_v2_params{&copy});
      }
      case 3: {
        const auto copy = in_.Take<CUDA_MEMCPY3D>();
        return Decode(CALL(cuMemcpy3D_v2), cuMemcpy3D_v2_params{&copy});
      }
      case 4: {
        const auto copy = in_.Take<CUDA_MEMCPY3D_PEER>();
        return Decode(CALL(cuMemcpy3DPeer), cuMemcpy3DPeer_params{&copy});
      }
      case 5:
        return Decode(CALL(cuMemcpyDtoD_v2), in_.Take<cuMemcpyDtoD_v2_params>());
      case 6:
        return Decode(CALL(cuMemcpy), in_.Take<cuMemcpy_params>());
      case 7:
        return Decode(CALL(cuMemsetD2D32_v2), in_.Take<cuMemsetD2D32_v2_params>());
      case 8: {
        std::vector<CUstreamBatchMemOpParams> ops(in_.Pick(5));
        for (auto& op : ops) op = in_.Take<CUstreamBatchMemOpParams>();
        return Decode(CALL(cuStreamBatchMemOp_v2),
                      cuStreamBatchMemOp_v2_params{nullptr, static_cast<unsigned>(ops.size()),
                                                   ops.data(), in_.Pick(2)});
      }
      case 9:
        return graph_.AddNode();
      case 10:
        return Instantiate();
      default:
        return LaunchGraph();
    }
  }

 private:
  template <typename Params>
  void Decode(uint32_t call, const Params& params) {
    submission_.Clear();
    decoder_.Decode(call, &params, &submission_);
    for (const Touch& t : submission_.touches) {
      VS_CHECK(t.ptr.value >= kArena && t.ptr.value - kArena < kArenaSize);
    }
  }

  void Launch() {
    const CUfunction kernel = in_.Kernel();
    auto words = in_.Parameters(kernel);
    std::vector<void*> pointers;
    for (auto& w : words) pointers.push_back(w.data());
    cuLaunchKernel_params params{kernel,
                                 in_.Take<unsigned>(),
                                 in_.Take<unsigned>(),
                                 1,
                                 1,
                                 1,
                                 1,
                                 0,
                                 nullptr,
                                 in_.Pick(16) == 0 ? nullptr : pointers.data(),
                                 nullptr};
    Decode(CALL(cuLaunchKernel), params);
  }

  // Parameters as one buffer of some size.
  void LaunchExtra() {
    std::vector<uint64_t> buffer(1 + in_.Pick(64));
    for (uint64_t& word : buffer) word = in_.empty() ? 0 : in_.Word();
    size_t size = in_.Take<uint16_t>() % (buffer.size() * 8 + 1);
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer.data(), CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &size, CU_LAUNCH_PARAM_END};
    void** from = in_.Pick(4) == 0 ? extra + 2 : extra;  // A size without a buffer.
    cuLaunchKernel_params params{in_.Kernel(), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, from};
    Decode(CALL(cuLaunchKernel), params);
  }

  void Instantiate() {
    CUgraphExec exec = nullptr;
    const CUresult r = cuGraphInstantiate(&exec, graph_.get(), 0);
    const cuGraphInstantiateWithFlags_params params{&exec, graph_.get(), 0};
    decoder_.Learn(CALL(cuGraphInstantiateWithFlags), &params, r);
    if (r == CUDA_SUCCESS) execs_.push_back(exec);
  }

  void LaunchGraph() {
    const CUgraphExec exec = execs_.empty() ? nullptr : execs_[in_.Take<uint8_t>() % execs_.size()];
    Decode(CALL(cuGraphLaunch), cuGraphLaunch_params{exec, nullptr});
  }

  Input& in_;
  Decoder decoder_;
  Submission submission_;
  GrowingGraph graph_;
  std::vector<CUgraphExec> execs_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input in(data, size);
  Calls calls(&in);
  for (int i = 0; i < 64 && !in.empty(); ++i) calls.One();
  return 0;
}
