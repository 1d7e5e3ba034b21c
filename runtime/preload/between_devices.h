// Copies and fills that concern more than one device: memory of ours on one, and the other end of
// the copy, or the context that makes it, on another. Memory of cuMemAlloc the driver copies
// between devices whether or not peer access is enabled. Of mappings it refuses what a device that
// is concerned has no access to, and where such a mapping is host memory it crashes, in copies that
// name the contexts too (seen on two H100s). So before such a call our memory is opened to the
// devices concerned, and stays so. Where devices do not reach each other, what lies on the host is
// opened, and the rest goes as peer_copies.h says.
//
// A process in which there is one device pays a load for it.
//
// Threads: any.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_BETWEEN_DEVICES_H_
#define VRAMSPAN_RUNTIME_PRELOAD_BETWEEN_DEVICES_H_

#include <atomic>
#include <type_traits>

#include "runtime/preload/cuda_api.h"

namespace vramspan::preload {

// Whether there is more than one device, from the first runtime on.
extern std::atomic<bool> several_devices;
void CountDevices();

// A copy from `from` to `to`, or a fill of `to`; 0 for what is none of the driver's addresses.
struct CopyEnds {
  CUdeviceptr to = 0, from = 0;
};
// Who makes it: the stream's context, the given one, or else the current.
struct CopyMaker {
  CUstream stream = nullptr;
  CUcontext context = nullptr;
};
void OpenBetween(const CopyMaker& maker, const CopyEnds& ends);

namespace ends {

// Where a copy of rows begins says whose memory it is: one allocation, one device.
template <typename Rows>
CopyEnds OfRows(const Rows& c) {
  const auto address = [](CUmemorytype type, CUdeviceptr p) {
    return type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED ? p : 0;
  };
  return {address(c.dstMemoryType, c.dstDevice), address(c.srcMemoryType, c.srcDevice)};
}

inline CUdeviceptr OfOperand(const CUmemcpy3DOperand& operand) {
  return operand.type == CU_MEMCPY_OPERAND_TYPE_POINTER ? operand.op.ptr.ptr : 0;
}

// The parameters of a node, in each of the structs that graphs take them in.
template <typename F>
void OfNode(const CUDA_MEMCPY3D* c, F&& f) {
  if (c != nullptr) f(OfRows(*c), CUcontext{});
}
template <typename F>
void OfNode(const CUDA_MEMSET_NODE_PARAMS* c, F&& f) {
  if (c != nullptr) f(CopyEnds{c->dst, 0}, CUcontext{});
}
template <typename F>
void OfNode(const CUgraphNodeParams* c, F&& f) {
  if (c == nullptr) return;
  if (c->type == CU_GRAPH_NODE_TYPE_MEMCPY) f(OfRows(c->memcpy.copyParams), c->memcpy.copyCtx);
  if (c->type == CU_GRAPH_NODE_TYPE_MEMSET) f(CopyEnds{c->memset.dst, 0}, c->memset.ctx);
}
template <typename T, typename F>
void OfNode(const T&, F&&) {}

template <typename P>
CUdeviceptr Target(const P& p) {
  if constexpr (requires { p.dstDevice; }) {
    return p.dstDevice;
  } else if constexpr (requires { CUdeviceptr{p.dst}; }) {
    return p.dst;
  } else {
    return 0;
  }
}
template <typename P>
CUdeviceptr Source(const P& p) {
  if constexpr (requires { p.srcDevice; }) {
    return p.srcDevice;
  } else if constexpr (requires { CUdeviceptr{p.src}; }) {
    return p.src;
  } else {
    return 0;
  }
}

// Calls f(ends, context) for each copy and fill that a call's parameters name.
template <typename P, typename F>
void ForEach(const P& p, F&& f) {
  if constexpr (requires { p.opList->dst; }) {
    for (size_t i = 0; p.opList != nullptr && i < p.numOps; ++i) {
      f(CopyEnds{OfOperand(p.opList[i].dst), OfOperand(p.opList[i].src)}, CUcontext{});
    }
  } else if constexpr (requires { p.dsts[0], p.srcs[0]; }) {
    for (size_t i = 0; p.dsts != nullptr && p.srcs != nullptr && i < p.count; ++i) {
      f(CopyEnds{p.dsts[i], p.srcs[i]}, CUcontext{});
    }
  } else if constexpr (requires { p.pCopy; }) {
    if (p.pCopy != nullptr) f(OfRows(*p.pCopy), CUcontext{});
  } else if constexpr (requires { p.copyParams, p.ctx; }) {
    OfNode(p.copyParams, [&](const CopyEnds& e, CUcontext) { f(e, p.ctx); });
  } else if constexpr (requires { p.memsetParams, p.ctx; }) {
    OfNode(p.memsetParams, [&](const CopyEnds& e, CUcontext) { f(e, p.ctx); });
  } else if constexpr (requires { p.nodeParams; }) {
    OfNode(p.nodeParams, f);
  } else {
    f(CopyEnds{Target(p), Source(p)}, CUcontext{});
  }
}

// Kernels have the access that the program enabled, and so have texture objects and the like.
template <typename P>
inline constexpr bool kAny = requires(const P& p) {
  p.opList->dst;
}
|| requires(const P& p) { p.dsts[0], p.srcs[0]; }
|| requires(const P& p) { p.pCopy; }
|| requires(const P& p) { p.copyParams, p.ctx; }
|| requires(const P& p) { p.memsetParams, p.ctx; }
|| requires(const P& p) { p.nodeParams; }
|| requires(const P& p) { p.dstDevice; }
|| requires(const P& p) { CUdeviceptr{p.dst}; }
|| requires(const P& p) { p.srcDevice; };

}  // namespace ends

// Before the call, and before anybody is told of it: nothing of the runtime's is held.
template <typename Params>
void OpenWhatIsBetweenDevices(const Params& params) {
  CopyMaker maker;
  if constexpr (requires { params.hStream; }) maker.stream = params.hStream;
  ends::ForEach(params, [&](const CopyEnds& ends, CUcontext context) {
    maker.context = context;
    OpenBetween(maker, ends);
  });
}

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_BETWEEN_DEVICES_H_
