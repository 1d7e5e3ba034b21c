// A graph that grows node by node, out of the bytes of fuzz_launch.cc.
#ifndef VRAMSPAN_TESTS_FUZZ_LAUNCH_GRAPH_H_
#define VRAMSPAN_TESTS_FUZZ_LAUNCH_GRAPH_H_

#include <cuda.h>

#include <vector>

#include "tests/fuzz/launch_input.h"

class GrowingGraph {
 public:
  explicit GrowingGraph(Input* in) : in_(*in) {
    VS_CHECK(cuGraphCreate(&graph_, 0) == CUDA_SUCCESS);
  }
  ~GrowingGraph() { cuGraphDestroy(graph_); }
  GrowingGraph(const GrowingGraph&) = delete;
  GrowingGraph& operator=(const GrowingGraph&) = delete;

  CUgraph get() const { return graph_; }

  void AddNode() {
    CUgraphNode node = nullptr;
    const CUgraphNode* behind = nodes_.empty() ? nullptr : &nodes_[in_.Pick(16) % nodes_.size()];
    const size_t count = behind == nullptr ? 0 : in_.Pick(2);
    CUresult r = CUDA_ERROR_NOT_READY;
    switch (in_.Pick(6)) {
      case 0: {
        CUDA_KERNEL_NODE_PARAMS params{};
        params.func = in_.Kernel();
        params.gridDimX = params.gridDimY = params.gridDimZ = 1;
        params.blockDimX = params.blockDimY = params.blockDimZ = 1;
        auto words = in_.Parameters(params.func);
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

 private:
  Input& in_;
  CUgraph graph_ = nullptr;
  std::vector<CUgraphNode> nodes_;
};

#endif  // VRAMSPAN_TESTS_FUZZ_LAUNCH_GRAPH_H_
