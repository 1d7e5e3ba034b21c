#include "runtime/observe/call_table.h"

#include <array>
#include <string_view>

#include "runtime/observe/call_fields.h"
#include "runtime/observe/call_params.h"

namespace vramspan {
namespace {

using Table = std::array<Call, CUPTI_DRIVER_TRACE_CBID_SIZE>;

template <typename P>
constexpr Call Submits(std::string_view name,
                       void (*decode)(Knowledge&, const void*, Submission*)) {
  Call call;
  call.call_class = CallClass::kSubmits;
  call.per_thread = name.ends_with("_ptsz") || name.ends_with("_ptds");
  call.copies_from_host = fields::kMaySourceHost<P>;
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

void DropLayouts(Knowledge& known, const void* /*params*/) { known.layouts.Drop(); }

// cuda.h defines many of these names as those of newer variants, so that they must not pass through
// another macro.
#define VS_SUBMITS(name, decode)          \
  table[CUPTI_DRIVER_TRACE_CBID_##name] = \
      Submits<name##_params>(#name, &fields::decode<name##_params>)
#define VS_DEFINES(name, before, learn) \
  table[CUPTI_DRIVER_TRACE_CBID_##name] = Defines(before, learn)

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

  // The ends of modules, and so of the kernels' handles.
  VS_DEFINES(cuModuleUnload, DropLayouts, nullptr);
  VS_DEFINES(cuLibraryUnload, DropLayouts, nullptr);
  VS_DEFINES(cuCtxDestroy, DropLayouts, nullptr);
  VS_DEFINES(cuCtxDestroy_v2, DropLayouts, nullptr);
  VS_DEFINES(cuDevicePrimaryCtxRelease, DropLayouts, nullptr);
  VS_DEFINES(cuDevicePrimaryCtxRelease_v2, DropLayouts, nullptr);
  VS_DEFINES(cuDevicePrimaryCtxReset, DropLayouts, nullptr);
  VS_DEFINES(cuDevicePrimaryCtxReset_v2, DropLayouts, nullptr);
  return table;
}

constexpr Table kTable = MakeTable();

}  // namespace

const Call& CallAt(uint32_t call) { return kTable[call]; }
uint32_t CallCount() { return static_cast<uint32_t>(kTable.size()); }

}  // namespace vramspan
