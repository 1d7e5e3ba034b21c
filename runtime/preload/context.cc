#include "runtime/preload/context.h"

#include <array>
#include <atomic>
#include <cstddef>

#include "runtime/preload/foreign.h"
#include "runtime/preload/launch.h"
#include "runtime/preload/peers.h"
#include "runtime/preload/runtimes.h"

namespace vramspan::preload {
namespace {

constinit std::array<std::atomic<int>, kMostDevices> retains{};

std::atomic<int>* RetainsOf(CUdevice device) {
  if (device < 0 || static_cast<size_t>(device) >= kMostDevices) return nullptr;
  return &retains[static_cast<size_t>(device)];
}

void EndPrimary(CUdevice device) {
  ForgetPeersOfPrimary(device);
  EndRuntimeOfPrimary(device);
}

// `watched` tells of the call and makes it.
template <typename Real, typename Watched>
CUresult Release(Real real, CUdevice device, Watched watched) {
  std::atomic<int>* const count = RetainsOf(device);
  if (count != nullptr && count->load(std::memory_order_relaxed) == 1) EndPrimary(device);
  const CUresult result = watched(real, device);
  if (result == CUDA_SUCCESS && count != nullptr && count->load(std::memory_order_relaxed) > 0) {
    count->fetch_sub(1, std::memory_order_relaxed);
  }
  return result;
}

}  // namespace

CUresult CtxDestroyV1(decltype(&::cuCtxDestroy) real, CUcontext context) {
  ForgetPeers(context);
  EndRuntime(context);
  return WithReturn([&] { return VS_WATCHED(cuCtxDestroy)(real, context); });
}

CUresult CtxDestroy(decltype(&::cuCtxDestroy_v2) real, CUcontext context) {
  ForgetPeers(context);
  EndRuntime(context);
  return WithReturn([&] { return VS_WATCHED(cuCtxDestroy_v2)(real, context); });
}

CUresult DevicePrimaryCtxRetain(decltype(&::cuDevicePrimaryCtxRetain) real, CUcontext* context,
                                CUdevice device) {
  const CUresult result = real(context, device);
  if (result == CUDA_SUCCESS) {
    if (std::atomic<int>* const count = RetainsOf(device)) {
      count->fetch_add(1, std::memory_order_relaxed);
    }
  }
  return result;
}

CUresult DevicePrimaryCtxReleaseV1(decltype(&::cuDevicePrimaryCtxRelease) real, CUdevice device) {
  return Release(real, device, VS_WATCHED(cuDevicePrimaryCtxRelease));
}

CUresult DevicePrimaryCtxRelease(decltype(&::cuDevicePrimaryCtxRelease_v2) real, CUdevice device) {
  return Release(real, device, VS_WATCHED(cuDevicePrimaryCtxRelease_v2));
}

CUresult DevicePrimaryCtxResetV1(decltype(&::cuDevicePrimaryCtxReset) real, CUdevice device) {
  EndPrimary(device);
  return VS_WATCHED(cuDevicePrimaryCtxReset)(real, device);
}

CUresult DevicePrimaryCtxReset(decltype(&::cuDevicePrimaryCtxReset_v2) real, CUdevice device) {
  EndPrimary(device);
  return VS_WATCHED(cuDevicePrimaryCtxReset_v2)(real, device);
}

}  // namespace vramspan::preload
