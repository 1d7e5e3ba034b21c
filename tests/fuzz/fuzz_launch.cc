// What a program may put into launches, copies and graphs, as the decoder reads them: the pointers
// that the driver would follow lead somewhere, and every number has any value. The input is a
// sequence of calls, a byte that says which and the bytes that its fields are filled with; what is
// short is zero.
#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/driver/driver.h"
#include "runtime/observe/call_params.h"
#include "runtime/observe/decoder.h"
#include "tests/kernels/test_kernels.h"
#include "tests/observe/observe_kernels.h"

// CUPTI's number of a call. A macro may not stand between: cuda.h redefines many of the names.
#define CALL(name) CUPTI_DRIVER_TRACE_CBID_##name

namespace {

using namespace vramspan;  // NOLINT

constexpr uint64_t kArena = uint64_t{1} << 46;
constexpr uint64_t kArenaSize = uint64_t{1} << 40;

class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}
  bool empty() const { return rest_.empty(); }

  template <typename T>
  T Take() {
    T value{};
    const size_t n = std::min(sizeof(T), rest_.size());
    std::memcpy(static_cast<void*>(&value), rest_.data(), n);
    rest_.remove_prefix(n);
    return value;
  }
  uint8_t Pick(uint8_t n) { return static_cast<uint8_t>(Take<uint8_t>() % n); }

 private:
  std::string_view rest_;
};

struct World {
  CUcontext context = nullptr;
  std::vector<CUfunction> kernels;
  std::shared_ptr<const Driver> driver;
};

const World& TheWorld() {
  static const World* const world = [] {
    auto* w = new World;
    const auto ok = [](CUresult r) { VS_CHECK(r == CUDA_SUCCESS); };
    ok(cuInit(0));
    ok(cuDevicePrimaryCtxRetain(&w->context, 0));
    ok(cuCtxSetCurrent(w->context));
    CUmodule module = nullptr;
    for (const simcuda::KernelImages& images : {test_kernels_images(), observe_kernels_images()}) {
      ok(simcuda::LoadKernels(images, cuModuleLoadData, &module));
      unsigned count = 0;
      ok(cuModuleGetFunctionCount(&count, module));
      std::vector<CUfunction> functions(count);
      ok(cuModuleEnumerateFunctions(functions.data(), count, module));
      w->kernels.insert(w->kernels.end(), functions.begin(), functions.end());
    }
    auto driver = Driver::Load();
    VS_CHECK(driver.ok());
    w->driver = *driver;
    return w;
  }();
  return *world;
}

class Calls {
 public:
  explicit Calls(Input* in) : in_(*in), decoder_(TheWorld().driver) {
    decoder_.AddArena(DevicePtr(kArena), Bytes(kArenaSize));
    VS_CHECK(cuGraphCreate(&graph_, 0) == CUDA_SUCCESS);
  }
  ~Calls() {
    for (CUgraphExec exec : execs_) cuGraphExecDestroy(exec);
    cuGraphDestroy(graph_);
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
        return AddNode();
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

  CUfunction Kernel() {
    const auto& kernels = TheWorld().kernels;
    return kernels[in_.Take<uint8_t>() % kernels.size()];
  }
  uint64_t Word() {
    // Now and then an address.
    const auto word = in_.Take<uint64_t>();
    return word % 2 == 0 ? word : kArena + word % kArenaSize;
  }

  // As many parameters as the kernel has, of its sizes.
  std::vector<std::vector<uint64_t>> Parameters(CUfunction kernel) {
    std::vector<std::vector<uint64_t>> all;
    size_t offset = 0, size = 0;
    for (size_t i = 0; cuFuncGetParamInfo(kernel, i, &offset, &size) == CUDA_SUCCESS; ++i) {
      auto& words = all.emplace_back((size + 7) / 8);
      for (size_t w = 0; w < std::min<size_t>(words.size(), 8); ++w) words[w] = Word();
    }
    return all;
  }

  void Launch() {
    const CUfunction kernel = Kernel();
    auto words = Parameters(kernel);
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
    for (uint64_t& word : buffer) word = in_.empty() ? 0 : Word();
    size_t size = in_.Take<uint16_t>() % (buffer.size() * 8 + 1);
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer.data(), CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &size, CU_LAUNCH_PARAM_END};
    void** from = in_.Pick(4) == 0 ? extra + 2 : extra;  // A size without a buffer.
    cuLaunchKernel_params params{Kernel(), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, from};
    Decode(CALL(cuLaunchKernel), params);
  }

  void AddNode() {
    CUgraphNode node = nullptr;
    const CUgraphNode* behind = nodes_.empty() ? nullptr : &nodes_[in_.Pick(16) % nodes_.size()];
    const size_t count = behind == nullptr ? 0 : in_.Pick(2);
    CUresult r = CUDA_ERROR_NOT_READY;
    switch (in_.Pick(6)) {
      case 0: {
        CUDA_KERNEL_NODE_PARAMS params{};
        params.func = Kernel();
        params.gridDimX = params.gridDimY = params.gridDimZ = 1;
        params.blockDimX = params.blockDimY = params.blockDimZ = 1;
        auto words = Parameters(params.func);
        std::vector<void*> pointers;
        for (auto& w : words) pointers.push_back(w.data());
        params.kernelParams = pointers.data();
        r = cuGraphAddKernelNode(&node, graph_, behind, count, &params);
        break;
      }
      case 1: {
        const auto copy = in_.Take<CUDA_MEMCPY3D>();
        r = cuGraphAddMemcpyNode(&node, graph_, behind, count, &copy, TheWorld().context);
        break;
      }
      case 2: {
        const auto set = in_.Take<CUDA_MEMSET_NODE_PARAMS>();
        r = cuGraphAddMemsetNode(&node, graph_, behind, count, &set, TheWorld().context);
        break;
      }
      case 3:
        r = cuGraphAddEmptyNode(&node, graph_, behind, count);
        break;
      case 4: {
        // A copy of this graph in itself.
        CUgraph child = nullptr;
        if (nodes_.size() > 8 || cuGraphClone(&child, graph_) != CUDA_SUCCESS) return;
        r = cuGraphAddChildGraphNode(&node, graph_, behind, count, child);
        cuGraphDestroy(child);
        break;
      }
      default: {
        std::vector<CUstreamBatchMemOpParams> ops(1 + in_.Pick(3));
        for (auto& op : ops) op = in_.Take<CUstreamBatchMemOpParams>();
        const CUDA_BATCH_MEM_OP_NODE_PARAMS params{
            TheWorld().context, static_cast<unsigned>(ops.size()), ops.data(), 0};
        r = cuGraphAddBatchMemOpNode(&node, graph_, behind, count, &params);
        break;
      }
    }
    if (r == CUDA_SUCCESS) nodes_.push_back(node);
  }

  void Instantiate() {
    CUgraphExec exec = nullptr;
    const CUresult r = cuGraphInstantiate(&exec, graph_, 0);
    const cuGraphInstantiateWithFlags_params params{&exec, graph_, 0};
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
  CUgraph graph_ = nullptr;
  std::vector<CUgraphNode> nodes_;
  std::vector<CUgraphExec> execs_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input in(data, size);
  Calls calls(&in);
  for (int i = 0; i < 64 && !in.empty(); ++i) calls.One();
  return 0;
}
