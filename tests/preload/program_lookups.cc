// Calls that have the driver look memory up although they submit no work. Memory that was evicted
// may have no mapping for a while, and must have it back before they return.
#include <cudaTypedefs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>

#include "tests/preload/program_calls.h"

namespace {

constexpr size_t kBytes = size_t{4} << 20;
constexpr int kMostTries = 50;

// Buffers of which some have no mapping.
class Hidden {
 public:
  explicit Hidden(Program* p) : p_(*p), buffers_(12) {
    CHECK(pipe(pipe_) == 0);
    p_.Start();
    for (CUdeviceptr& b : buffers_) CHECK_OK(p_.api.MemAlloc(&b, kBytes));
  }
  ~Hidden() {
    for (const CUdeviceptr b : buffers_) CHECK_OK(p_.api.MemFree(b));
  }

  // One that has none now.
  CUdeviceptr Make() {
    for (int i = 0; i < kMostTries; ++i) {
      for (int round = 0; round < 2; ++round) {
        for (const CUdeviceptr b : buffers_) p_.Launch(p_.add_constant, b, kBytes / 8, 1);
      }
      // Unexpected, or memory would go on moving for the launches behind these.
      p_.Launch(p_.add_constant, buffers_.back(), kBytes / 8, 1);
      CHECK_OK(p_.api.StreamSynchronize(p_.stream));
      for (const CUdeviceptr b : buffers_) {
        if (!IsMapped(b)) return b;
      }
    }
    Fail("nothing is hidden");
  }
  bool AllMapped() const {
    for (const CUdeviceptr b : buffers_) {
      if (!IsMapped(b)) return false;
    }
    return true;
  }

 private:
  // What the simulated driver maps the kernel can read: neither the driver nor a sanitizer is
  // asked.
  bool IsMapped(CUdeviceptr at) const {
    char byte = 0;
    if (syscall(SYS_write, pipe_[1], at, 1) != 1) return false;
    CHECK(read(pipe_[0], &byte, 1) == 1);
    return true;
  }

  Program& p_;
  std::vector<CUdeviceptr> buffers_;
  int pipe_[2] = {};
};

CUgraphNodeParams AnyFill(CUdeviceptr at, CUcontext context) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_MEMSET;
  params.memset.dst = at;
  params.memset.elementSize = 1;
  params.memset.width = 64;
  params.memset.height = 1;
  params.memset.ctx = context;
  return params;
}

}  // namespace

void LookUp(Program* p, const std::string& name) {
  Hidden hidden(p);
  CUgraph graph = nullptr;
  CHECK_OK(GET(cuGraphCreate, "cuGraphCreate")(&graph, 0));
  CUdeviceptr here = 0;
  CHECK_OK(p->api.MemAlloc(&here, kBytes));
  CUgraphNode copy_node = nullptr, fill_node = nullptr, node = nullptr;
  const CUDA_MEMCPY3D copy_here = CopyNode(here);
  const CUDA_MEMSET_NODE_PARAMS fill_here = FillNode(here);
  const auto add_copy = GET(cuGraphAddMemcpyNode, "cuGraphAddMemcpyNode");
  const auto add_fill = GET(cuGraphAddMemsetNode, "cuGraphAddMemsetNode");
  CHECK_OK(add_copy(&copy_node, graph, nullptr, 0, &copy_here, p->context));
  CHECK_OK(add_fill(&fill_node, graph, nullptr, 0, &fill_here, p->context));

  const CUdeviceptr at = hidden.Make();
  const CUDA_MEMCPY3D copy = CopyNode(at);
  const CUDA_MEMSET_NODE_PARAMS fill = FillNode(at);
  CUgraphNodeParams any = AnyFill(at, p->context);
  const std::map<std::string, std::function<CUresult()>> calls = {
      {"cuGraphAddMemcpyNode",
       [&] { return add_copy(&node, graph, nullptr, 0, &copy, p->context); }},
      {"cuGraphMemcpyNodeSetParams",
       [&] {
         return GET(cuGraphMemcpyNodeSetParams, "cuGraphMemcpyNodeSetParams")(copy_node, &copy);
       }},
      {"cuGraphAddMemsetNode",
       [&] { return add_fill(&node, graph, nullptr, 0, &fill, p->context); }},
      {"cuGraphMemsetNodeSetParams",
       [&] {
         return GET(cuGraphMemsetNodeSetParams, "cuGraphMemsetNodeSetParams")(fill_node, &fill);
       }},
      {"cuGraphAddBatchMemOpNode",
       [&] {
         CUstreamBatchMemOpParams op{};
         op.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
         op.writeValue.address = at;
         const CUDA_BATCH_MEM_OP_NODE_PARAMS ops{p->context, 1, &op, 0};
         return GET(cuGraphAddBatchMemOpNode, "cuGraphAddBatchMemOpNode")(&node, graph, nullptr, 0,
                                                                          &ops);
       }},
      {"cuGraphAddNode",
       [&] {
         return Get<PFN_cuGraphAddNode_v12020>("cuGraphAddNode")(&node, graph, nullptr, 0, &any);
       }},
      {"cuGraphAddNode_v2",
       [&] {
         return Get<PFN_cuGraphAddNode_v12030>("cuGraphAddNode_v2")(&node, graph, nullptr, nullptr,
                                                                    0, &any);
       }},
      {"cuGraphNodeSetParams",
       [&] { return GET(cuGraphNodeSetParams, "cuGraphNodeSetParams")(fill_node, &any); }},
  };
  const auto call = calls.find(name);
  if (call == calls.end()) Fail("no call " + name);
  CHECK_OK(call->second());
  CHECK(hidden.AllMapped());
  CHECK_OK(GET(cuGraphDestroy, "cuGraphDestroy")(graph));
  CHECK_OK(p->api.MemFree(here));
}
