#include "runtime/observe/call_table.h"

#include <array>
#include <string_view>

#include "runtime/observe/call_fields.h"
#include "runtime/observe/call_params.h"
#include "runtime/observe/graph_fields.h"
#include "runtime/observe/object_fields.h"

namespace vramspan {
namespace {

using Table = std::array<Call, CUPTI_DRIVER_TRACE_CBID_SIZE>;

// Copies that may go to the host and are not asynchronous. One from the host returns once what it
// copies has been read.
constexpr bool ReturnsDone(std::string_view name) {
  constexpr std::string_view kCopy = "cuMemcpy";
  if (!name.starts_with(kCopy) || name.find("Async") != name.npos) return false;
  name.remove_prefix(kCopy.size());
  return name.empty() || name.starts_with("_ptds") || name.starts_with("DtoH") ||
         name.starts_with("AtoH") || name.starts_with("2D") ||
         (name.starts_with("3D") && !name.starts_with("3DPeer"));
}

template <typename P>
constexpr Call Submits(std::string_view name,
                       void (*decode)(Knowledge&, const void*, Submission*)) {
  Call call;
  call.call_class = CallClass::kSubmits;
  call.per_thread = name.ends_with("_ptsz") || name.ends_with("_ptds");
  call.copies_from_host = fields::MaySourceHost<P>();
  call.returns_done = ReturnsDone(name);
  call.stream = &fields::Stream<P>;
  call.decode = decode;
  return call;
}

constexpr Call Defines(void (*before)(Knowledge&, const void*),
                       void (*learn)(Knowledge&, const void*)) {
  Call call;
  call.call_class = CallClass::kDefines;
  call.before = before;
  call.learn = learn;
  return call;
}

constexpr Call DefinesLookedUp(void (*before)(Knowledge&, const void*),
                               void (*learn)(Knowledge&, const void*)) {
  Call call = Defines(before, learn);
  call.looks_up = true;
  return call;
}

constexpr Call LooksUp(uint64_t (*address)(const void*)) {
  Call call;
  call.call_class = CallClass::kLooksUp;
  call.looks_up = true;
  call.address = address;
  return call;
}

constexpr Call Waits(WaitsFor what) {
  Call call;
  call.call_class = CallClass::kWaits;
  call.waits_for = what;
  return call;
}

template <typename P>
constexpr Call WaitsForStream(std::string_view name) {
  Call call = Waits(WaitsFor::kStream);
  call.per_thread = name.ends_with("_ptsz");
  call.stream = &fields::Stream<P>;
  return call;
}

// The address that a question is about, whatever its parameter is called.
template <typename P>
uint64_t Asked(const void* params) {
  const P& p = *static_cast<const P*>(params);
  if constexpr (requires { p.dptr; }) {
    return static_cast<uint64_t>(p.dptr);
  } else if constexpr (requires { p.addr; }) {
    return reinterpret_cast<uintptr_t>(p.addr);
  } else {
    return static_cast<uint64_t>(p.ptr);
  }
}

// cuda.h defines many of these names as those of newer variants, so that they must not pass through
// another macro.
#define VS_SUBMITS(name, decode)          \
  table[CUPTI_DRIVER_TRACE_CBID_##name] = \
      Submits<name##_params>(#name, &fields::decode<name##_params>)
#define VS_LEARNS(name, learn) \
  table[CUPTI_DRIVER_TRACE_CBID_##name] = Defines(nullptr, &fields::learn<name##_params>)
#define VS_FORGETS(name, forget) \
  table[CUPTI_DRIVER_TRACE_CBID_##name] = Defines(&fields::forget, nullptr)

#define VS_LOOKS_UP(name) table[CUPTI_DRIVER_TRACE_CBID_##name] = LooksUp(nullptr)
#define VS_ASKS(name) table[CUPTI_DRIVER_TRACE_CBID_##name] = LooksUp(&Asked<name##_params>)
// As VS_LEARNS; the driver looks up what the call names.
#define VS_LEARNS_LOOKED_UP(name, learn) \
  table[CUPTI_DRIVER_TRACE_CBID_##name] = DefinesLookedUp(nullptr, &fields::learn<name##_params>)

#define VS_WAITS(name, what) table[CUPTI_DRIVER_TRACE_CBID_##name] = Waits(WaitsFor::what)
#define VS_WAITS_FOR_STREAM(name) \
  table[CUPTI_DRIVER_TRACE_CBID_##name] = WaitsForStream<name##_params>(#name)

constexpr Table MakeTable() {
  Table table;
  // Kernels.
  VS_SUBMITS(cuLaunchKernel, Launch);
  VS_SUBMITS(cuLaunchKernel_ptsz, Launch);
  VS_SUBMITS(cuLaunchKernelEx, Launch);
  VS_SUBMITS(cuLaunchKernelEx_ptsz, Launch);
  VS_SUBMITS(cuLaunchCooperativeKernel, Launch);
  VS_SUBMITS(cuLaunchCooperativeKernel_ptsz, Launch);
  VS_SUBMITS(cuLaunchCooperativeKernelMultiDevice, Untold);
  VS_SUBMITS(cuLaunch, Untold);
  VS_SUBMITS(cuLaunchGrid, Untold);
  VS_SUBMITS(cuLaunchGridAsync, Untold);

  // Linear copies.
  VS_SUBMITS(cuMemcpy, Copy);
  VS_SUBMITS(cuMemcpy_ptds, Copy);
  VS_SUBMITS(cuMemcpyPeer, Copy);
  VS_SUBMITS(cuMemcpyPeer_ptds, Copy);
  VS_SUBMITS(cuMemcpyHtoD_v2, Copy);
  VS_SUBMITS(cuMemcpyHtoD_v2_ptds, Copy);
  VS_SUBMITS(cuMemcpyDtoH_v2, Copy);
  VS_SUBMITS(cuMemcpyDtoH_v2_ptds, Copy);
  VS_SUBMITS(cuMemcpyDtoD_v2, Copy);
  VS_SUBMITS(cuMemcpyDtoD_v2_ptds, Copy);
  VS_SUBMITS(cuMemcpyDtoA_v2, Copy);
  VS_SUBMITS(cuMemcpyDtoA_v2_ptds, Copy);
  VS_SUBMITS(cuMemcpyAtoD_v2, Copy);
  VS_SUBMITS(cuMemcpyAtoD_v2_ptds, Copy);
  VS_SUBMITS(cuMemcpyHtoA_v2, Copy);
  VS_SUBMITS(cuMemcpyHtoA_v2_ptds, Copy);
  VS_SUBMITS(cuMemcpyAtoH_v2, Copy);
  VS_SUBMITS(cuMemcpyAtoH_v2_ptds, Copy);
  VS_SUBMITS(cuMemcpyAtoA_v2, Copy);
  VS_SUBMITS(cuMemcpyAtoA_v2_ptds, Copy);
  VS_SUBMITS(cuMemcpyAsync, Copy);
  VS_SUBMITS(cuMemcpyAsync_ptsz, Copy);
  VS_SUBMITS(cuMemcpyPeerAsync, Copy);
  VS_SUBMITS(cuMemcpyPeerAsync_ptsz, Copy);
  VS_SUBMITS(cuMemcpyHtoDAsync_v2, Copy);
  VS_SUBMITS(cuMemcpyHtoDAsync_v2_ptsz, Copy);
  VS_SUBMITS(cuMemcpyDtoHAsync_v2, Copy);
  VS_SUBMITS(cuMemcpyDtoHAsync_v2_ptsz, Copy);
  VS_SUBMITS(cuMemcpyDtoDAsync_v2, Copy);
  VS_SUBMITS(cuMemcpyDtoDAsync_v2_ptsz, Copy);
  VS_SUBMITS(cuMemcpyHtoAAsync_v2, Copy);
  VS_SUBMITS(cuMemcpyHtoAAsync_v2_ptsz, Copy);
  VS_SUBMITS(cuMemcpyAtoHAsync_v2, Copy);
  VS_SUBMITS(cuMemcpyAtoHAsync_v2_ptsz, Copy);

  // Fills.
  VS_SUBMITS(cuMemsetD8_v2, Fill);
  VS_SUBMITS(cuMemsetD8_v2_ptds, Fill);
  VS_SUBMITS(cuMemsetD8Async, Fill);
  VS_SUBMITS(cuMemsetD8Async_ptsz, Fill);
  VS_SUBMITS(cuMemsetD16_v2, Fill);
  VS_SUBMITS(cuMemsetD16_v2_ptds, Fill);
  VS_SUBMITS(cuMemsetD16Async, Fill);
  VS_SUBMITS(cuMemsetD16Async_ptsz, Fill);
  VS_SUBMITS(cuMemsetD32_v2, Fill);
  VS_SUBMITS(cuMemsetD32_v2_ptds, Fill);
  VS_SUBMITS(cuMemsetD32Async, Fill);
  VS_SUBMITS(cuMemsetD32Async_ptsz, Fill);
  VS_SUBMITS(cuMemsetD2D8_v2, Fill);
  VS_SUBMITS(cuMemsetD2D8_v2_ptds, Fill);
  VS_SUBMITS(cuMemsetD2D8Async, Fill);
  VS_SUBMITS(cuMemsetD2D8Async_ptsz, Fill);
  VS_SUBMITS(cuMemsetD2D16_v2, Fill);
  VS_SUBMITS(cuMemsetD2D16_v2_ptds, Fill);
  VS_SUBMITS(cuMemsetD2D16Async, Fill);
  VS_SUBMITS(cuMemsetD2D16Async_ptsz, Fill);
  VS_SUBMITS(cuMemsetD2D32_v2, Fill);
  VS_SUBMITS(cuMemsetD2D32_v2_ptds, Fill);
  VS_SUBMITS(cuMemsetD2D32Async, Fill);
  VS_SUBMITS(cuMemsetD2D32Async_ptsz, Fill);

  // Copies of rows.
  VS_SUBMITS(cuMemcpy2D_v2, Rows);
  VS_SUBMITS(cuMemcpy2D_v2_ptds, Rows);
  VS_SUBMITS(cuMemcpy2DUnaligned_v2, Rows);
  VS_SUBMITS(cuMemcpy2DUnaligned_v2_ptds, Rows);
  VS_SUBMITS(cuMemcpy3D_v2, Rows);
  VS_SUBMITS(cuMemcpy3D_v2_ptds, Rows);
  VS_SUBMITS(cuMemcpy3DPeer, Rows);
  VS_SUBMITS(cuMemcpy3DPeer_ptds, Rows);
  VS_SUBMITS(cuMemcpy2DAsync_v2, Rows);
  VS_SUBMITS(cuMemcpy2DAsync_v2_ptsz, Rows);
  VS_SUBMITS(cuMemcpy3DAsync_v2, Rows);
  VS_SUBMITS(cuMemcpy3DAsync_v2_ptsz, Rows);
  VS_SUBMITS(cuMemcpy3DPeerAsync, Rows);
  VS_SUBMITS(cuMemcpy3DPeerAsync_ptsz, Rows);

  // Batches.
  VS_SUBMITS(cuMemcpyBatchAsync, Batch);
  VS_SUBMITS(cuMemcpyBatchAsync_ptsz, Batch);
  VS_SUBMITS(cuMemcpyBatchAsync_v2, Batch);
  VS_SUBMITS(cuMemcpyBatchAsync_v2_ptsz, Batch);
  VS_SUBMITS(cuMemcpy3DBatchAsync, Batch);
  VS_SUBMITS(cuMemcpy3DBatchAsync_ptsz, Batch);
  VS_SUBMITS(cuMemcpy3DBatchAsync_v2, Batch);
  VS_SUBMITS(cuMemcpy3DBatchAsync_v2_ptsz, Batch);
  VS_SUBMITS(cuMemBatchDecompressAsync, Batch);
  VS_SUBMITS(cuMemBatchDecompressAsync_ptsz, Batch);

  // What streams wait for and write.
  VS_SUBMITS(cuStreamWaitValue32, WaitValue);
  VS_SUBMITS(cuStreamWaitValue32_ptsz, WaitValue);
  VS_SUBMITS(cuStreamWriteValue32, WriteValue);
  VS_SUBMITS(cuStreamWriteValue32_ptsz, WriteValue);
  VS_SUBMITS(cuStreamWaitValue32_v2, WaitValue);
  VS_SUBMITS(cuStreamWaitValue32_v2_ptsz, WaitValue);
  VS_SUBMITS(cuStreamWriteValue32_v2, WriteValue);
  VS_SUBMITS(cuStreamWriteValue32_v2_ptsz, WriteValue);
  VS_SUBMITS(cuStreamWaitValue64, WaitValue);
  VS_SUBMITS(cuStreamWaitValue64_ptsz, WaitValue);
  VS_SUBMITS(cuStreamWriteValue64, WriteValue);
  VS_SUBMITS(cuStreamWriteValue64_ptsz, WriteValue);
  VS_SUBMITS(cuStreamWaitValue64_v2, WaitValue);
  VS_SUBMITS(cuStreamWaitValue64_v2_ptsz, WaitValue);
  VS_SUBMITS(cuStreamWriteValue64_v2, WriteValue);
  VS_SUBMITS(cuStreamWriteValue64_v2_ptsz, WriteValue);
  VS_SUBMITS(cuStreamBatchMemOp, StreamOps);
  VS_SUBMITS(cuStreamBatchMemOp_ptsz, StreamOps);
  VS_SUBMITS(cuStreamBatchMemOp_v2, StreamOps);
  VS_SUBMITS(cuStreamBatchMemOp_v2_ptsz, StreamOps);

  // Graphs.
  VS_SUBMITS(cuGraphLaunch, LaunchGraph);
  VS_SUBMITS(cuGraphLaunch_ptsz, LaunchGraph);
  VS_LEARNS_LOOKED_UP(cuGraphInstantiate, Instantiated);
  VS_LEARNS_LOOKED_UP(cuGraphInstantiate_v2, Instantiated);
  VS_LEARNS_LOOKED_UP(cuGraphInstantiateWithFlags, Instantiated);
  VS_LEARNS_LOOKED_UP(cuGraphInstantiateWithParams, Instantiated);
  VS_LEARNS_LOOKED_UP(cuGraphInstantiateWithParams_ptsz, Instantiated);
  VS_LEARNS_LOOKED_UP(cuGraphExecUpdate, Updated);
  VS_LEARNS_LOOKED_UP(cuGraphExecUpdate_v2, Updated);
  VS_LEARNS(cuGraphExecKernelNodeSetParams, SetNode);
  VS_LEARNS(cuGraphExecKernelNodeSetParams_v2, SetNode);
  VS_LEARNS_LOOKED_UP(cuGraphExecMemcpyNodeSetParams, SetNode);
  VS_LEARNS_LOOKED_UP(cuGraphExecMemsetNodeSetParams, SetNode);
  VS_LEARNS_LOOKED_UP(cuGraphExecBatchMemOpNodeSetParams, SetNode);
  VS_LEARNS_LOOKED_UP(cuGraphExecChildGraphNodeSetParams, SetNode);
  VS_LEARNS_LOOKED_UP(cuGraphExecNodeSetParams, SetNode);
  VS_FORGETS(cuGraphExecDestroy, ForgetGraph<cuGraphExecDestroy_params>);

  // Objects that stand for memory.
  VS_LEARNS_LOOKED_UP(cuTexObjectCreate, MakeTexture);
  VS_FORGETS(cuTexObjectDestroy, ForgetTexture<cuTexObjectDestroy_params>);
  VS_LEARNS_LOOKED_UP(cuTexRefSetAddress_v2, BindTexture);
  VS_LEARNS_LOOKED_UP(cuTexRefSetAddress2D_v2, BindTexture);
  VS_LEARNS_LOOKED_UP(cuTexRefSetAddress2D_v3, BindTexture);
  VS_LEARNS(cuTensorMapEncodeTiled, EncodeTensorMap);
  VS_LEARNS(cuTensorMapEncodeIm2col, EncodeTensorMap);
  VS_LEARNS(cuTensorMapEncodeIm2colWide, EncodeTensorMap);
  VS_LEARNS(cuTensorMapReplaceAddress, EncodeTensorMap);

  // Nodes with copies and fills: what they name is looked up when they are made.
  VS_LOOKS_UP(cuGraphAddMemcpyNode);
  VS_LOOKS_UP(cuGraphMemcpyNodeSetParams);
  VS_LOOKS_UP(cuGraphAddMemsetNode);
  VS_LOOKS_UP(cuGraphMemsetNodeSetParams);
  VS_LOOKS_UP(cuGraphAddBatchMemOpNode);
  VS_LOOKS_UP(cuGraphAddNode);
  VS_LOOKS_UP(cuGraphAddNode_v2);
  VS_LOOKS_UP(cuGraphNodeSetParams);

  // Questions.
  VS_ASKS(cuPointerGetAttribute);
  VS_ASKS(cuPointerGetAttributes);
  VS_ASKS(cuPointerSetAttribute);
  VS_ASKS(cuMemGetAddressRange_v2);
  VS_ASKS(cuMemGetHandleForAddressRange);
  VS_ASKS(cuMemRetainAllocationHandle);
  VS_ASKS(cuMemGetAccess);
  VS_ASKS(cuIpcGetMemHandle);

  // What returns when the device has done something.
  VS_WAITS(cuCtxSynchronize, kAll);
  VS_WAITS(cuCtxSynchronize_v2, kAll);
  VS_WAITS(cuEventSynchronize, kEvent);
  VS_WAITS_FOR_STREAM(cuStreamSynchronize);
  VS_WAITS_FOR_STREAM(cuStreamSynchronize_ptsz);

  // Code.
  VS_LEARNS(cuModuleLoad, Loaded);
  VS_LEARNS(cuModuleLoadData, Loaded);
  VS_LEARNS(cuModuleLoadDataEx, Loaded);
  VS_LEARNS(cuModuleLoadFatBinary, Loaded);
  VS_LEARNS(cuLibraryLoadData, Loaded);
  VS_LEARNS(cuLibraryLoadFromFile, Loaded);
  VS_LEARNS(cuKernelGetFunction, Loaded);

  // The ends of modules, and so of the kernels' handles.
  VS_FORGETS(cuModuleUnload, Unloads<cuModuleUnload_params>);
  VS_FORGETS(cuLibraryUnload, Unloads<cuLibraryUnload_params>);
  VS_FORGETS(cuCtxDestroy, DropHandles);
  VS_FORGETS(cuCtxDestroy_v2, DropHandles);
  VS_FORGETS(cuDevicePrimaryCtxRelease, DropHandles);
  VS_FORGETS(cuDevicePrimaryCtxRelease_v2, DropHandles);
  VS_FORGETS(cuDevicePrimaryCtxReset, DropHandles);
  VS_FORGETS(cuDevicePrimaryCtxReset_v2, DropHandles);
  return table;
}

constexpr Table kTable = MakeTable();

}  // namespace

const Call& CallAt(uint32_t call) { return kTable[call]; }
uint32_t CallCount() { return static_cast<uint32_t>(kTable.size()); }

}  // namespace vramspan
