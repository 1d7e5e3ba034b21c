// The C functions: arguments checked, statuses turned into CUresults. No exception crosses this
// edge.
#include <absl/strings/str_cat.h>

#include <exception>
#include <new>
#include <string>
#include <vector>

#include "runtime/api/beside_preload.h"
#include "runtime/api/check_enum.h"
#include "runtime/api/found_runtime.h"
#include "runtime/api/last_error.h"
#include "runtime/api/runtime.h"
#include "runtime/api/tracing.h"
#include "runtime/base/own_calls.h"
#include "runtime/base/own_process.h"

struct vramspanRuntime_st {
  std::unique_ptr<vramspan::Runtime> runtime;
  vramspan::OwnProcess process = vramspan::OwnProcess::This();
};

namespace vramspan {
namespace {

Status NullError(const char* what) {
  return absl::InvalidArgumentError(absl::StrCat(what, " is NULL"));
}

// As the driver has it, whose contexts do not come along either.
Status InheritedError() {
  return DriverError(CUDA_ERROR_NOT_INITIALIZED, "vramspan",
                     "a runtime of the parent process cannot be used in a child of fork");
}

// Runs `body` (Runtime& -> Status) on a runtime that is there, and lets no exception out.
template <typename Calls = OwnCalls, typename Body>
CUresult With(vramspanRuntime handle, Body body) {
  if (handle == nullptr || handle->runtime == nullptr) return Report(NullError("the runtime"));
  if (!handle->process.Here()) return Report(InheritedError());
  const Calls own;
  try {
    return Report(body(*handle->runtime));
  } catch (const std::bad_alloc&) {
    return Report(absl::ResourceExhaustedError("the process is out of memory"));
  } catch (const std::exception& e) {
    return Report(absl::InternalError(e.what()));
  }
}

}  // namespace
}  // namespace vramspan

using namespace vramspan;  // NOLINT: this file is the edge between the two worlds.

extern "C" {

CUresult vramspanCreate(vramspanRuntime* out, const vramspanConfig* config) {
  if (out == nullptr) return Report(NullError("the out-parameter"));
  const OwnCalls own;
  try {
    const Status alone = HavePreloadStandAside();
    if (!alone.ok()) return Report(alone);
    StatusOr<std::unique_ptr<Runtime>> runtime = Runtime::Create(config);
    if (!runtime.ok()) return Report(runtime.status());
    *out = new vramspanRuntime_st{*std::move(runtime)};
    return CUDA_SUCCESS;
  } catch (const std::exception& e) {
    return Report(absl::InternalError(e.what()));
  }
}

CUresult vramspanDestroy(vramspanRuntime runtime) {
  return With(runtime, [&](Runtime& r) {
    const std::shared_ptr<const Driver> driver = r.driver();
    driver->TakeNoted().IgnoreError();  // Of the time before, which nobody asked for.
    VS_RETURN_IF_ERROR(Runtime::End(&runtime->runtime));
    delete runtime;
    return driver->TakeNoted();
  });
}

CUresult vramspanMemAlloc(vramspanRuntime runtime, CUdeviceptr* ptr, size_t size) {
  return With(runtime, [&](Runtime& r) -> Status {
    if (ptr == nullptr) return NullError("the out-parameter");
    VS_ASSIGN_OR_RETURN(const DevicePtr p, r.Allocate(Bytes(size)));
    *ptr = p.value;
    return absl::OkStatus();
  });
}

CUresult vramspanMemFree(vramspanRuntime runtime, CUdeviceptr ptr) {
  return With(runtime, [&](Runtime& r) { return r.Free(DevicePtr(ptr)); });
}

CUresult vramspanWorkBegin(vramspanRuntime runtime, CUstream stream, const vramspanRange* ranges,
                           size_t count) {
  return With<OwnCallsOfLaunch>(runtime, [&](Runtime& r) -> Status {
    if (ranges == nullptr && count != 0) return NullError("the list of ranges");
    // Most work names a handful of ranges; the launch path does not allocate for those.
    WorkRange few[16];
    std::vector<WorkRange> many;
    WorkRange* own = few;
    if (count > std::size(few)) {
      many.resize(count);
      own = many.data();
    }
    for (size_t i = 0; i < count; ++i) {
      constexpr uint32_t kReadWrite = VRAMSPAN_READ | VRAMSPAN_WRITE;
      const uint32_t access = ranges[i].access;
      if ((access & ~(kReadWrite | VRAMSPAN_KERNELS_ONLY | VRAMSPAN_ONCE)) != 0 ||
          (access & kReadWrite) == 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("range ", i, ": access is ", access,
                         "; use VRAMSPAN_READ, VRAMSPAN_WRITE or both, with VRAMSPAN_KERNELS_ONLY "
                         "and VRAMSPAN_ONCE if they hold"));
      }
      own[i] = {DevicePtr(ranges[i].ptr),
                Bytes(ranges[i].size),
                {.write = (access & VRAMSPAN_WRITE) != 0,
                 .kernels_only = (access & VRAMSPAN_KERNELS_ONLY) != 0,
                 .once = (access & VRAMSPAN_ONCE) != 0}};
    }
    return r.BeginWork(stream, absl::MakeConstSpan(own, count),
                       ranges == nullptr ? Access::kUnknown : Access::kExact);
  });
}

CUresult vramspanWorkEnd(vramspanRuntime runtime, CUstream stream) {
  return With<OwnCallsOfLaunch>(runtime, [&](Runtime& r) { return r.EndWork(stream); });
}

CUresult vramspanStreamForget(vramspanRuntime runtime, CUstream stream) {
  return With(runtime, [&](Runtime& r) { return r.mover().Forget(stream); });
}

CUresult vramspanMemAdvise(vramspanRuntime runtime, CUdeviceptr ptr, size_t size,
                           vramspanAdvice advice) {
  return With(runtime, [&](Runtime& r) -> Status {
    VS_RETURN_IF_ERROR(CheckEnum(advice, VRAMSPAN_ADVISE_STREAMED_ONCE, "advice"));
    return r.Advise(DevicePtr(ptr), Bytes(size), advice);
  });
}

CUresult vramspanMemPrefetchAsync(vramspanRuntime runtime, CUdeviceptr ptr, size_t size,
                                  vramspanLocation to, CUstream stream) {
  return With(runtime, [&](Runtime& r) { return Prefetch(r, ptr, size, to, stream); });
}

CUresult vramspanMemDiscard(vramspanRuntime runtime, CUdeviceptr ptr, size_t size,
                            CUstream stream) {
  return With(runtime, [&](Runtime& r) { return Discard(r, ptr, size, stream); });
}

CUresult vramspanMemPin(vramspanRuntime runtime, CUdeviceptr ptr, size_t size) {
  return With(runtime, [&](Runtime& r) { return r.mover().Pin(DevicePtr(ptr), Bytes(size)); });
}

CUresult vramspanMemUnpin(vramspanRuntime runtime, CUdeviceptr ptr, size_t size) {
  return With(runtime, [&](Runtime& r) { return r.mover().Unpin(DevicePtr(ptr), Bytes(size)); });
}

CUresult vramspanSetDeviceBudget(vramspanRuntime runtime, size_t bytes) {
  return With(runtime, [&](Runtime& r) { return r.SetDeviceBudget(Bytes(bytes)); });
}

CUresult vramspanSetHostBudget(vramspanRuntime runtime, size_t bytes) {
  return With(runtime, [&](Runtime& r) { return r.SetHostBudget(Bytes(bytes)); });
}

CUresult vramspanSetPeerAccess(vramspanRuntime runtime, CUdevice peer, int allowed) {
  return With(runtime, [&](Runtime& r) { return r.SetPeerAccess(peer, allowed != 0); });
}

CUresult vramspanSynchronize(vramspanRuntime runtime) {
  return With(runtime, [&](Runtime& r) { return r.mover().Synchronize(); });
}

CUresult vramspanTakeBackgroundError(vramspanRuntime runtime) {
  return With(runtime, [&](Runtime& r) { return r.mover().TakeError(); });
}

CUresult vramspanMemResidency(vramspanRuntime runtime, CUdeviceptr ptr, size_t size,
                              vramspanResidency* residency) {
  return With(runtime, [&](Runtime& r) -> Status {
    if (residency == nullptr) return NullError("the out-parameter");
    VS_ASSIGN_OR_RETURN(*residency, r.Residency(DevicePtr(ptr), Bytes(size)));
    return absl::OkStatus();
  });
}

CUresult vramspanMemGetAddressRange(vramspanRuntime runtime, CUdeviceptr* base, size_t* size,
                                    CUdeviceptr ptr) {
  return With(runtime, [&](Runtime& r) -> Status {
    VS_ASSIGN_OR_RETURN(const Allocation a, r.memory().Find(DevicePtr(ptr)));
    if (base != nullptr) *base = a.base.value;
    if (size != nullptr) *size = a.requested.value;
    return absl::OkStatus();
  });
}

CUresult vramspanGetStatistics(vramspanRuntime runtime, vramspanStatistics* out) {
  return With(runtime, [&](Runtime& r) { return CopyStatistics(r, out); });
}

CUresult vramspanReleaseCupti(void) {
  if (Tracing::Inherited()) return Report(InheritedError());
  const OwnCalls own;
  try {
    return Report(Tracing::Get().GiveUpCupti());
  } catch (const std::exception& e) {
    return Report(absl::InternalError(e.what()));
  }
}

const char* vramspanLastErrorMessage(void) { return LastErrorMessage(); }

#define VS_TEXT(number) #number
#define VS_VERSION(major, minor, patch) VS_TEXT(major) "." VS_TEXT(minor) "." VS_TEXT(patch)
const char* vramspanVersion(void) {
  return VS_VERSION(VRAMSPAN_VERSION_MAJOR, VRAMSPAN_VERSION_MINOR, VRAMSPAN_VERSION_PATCH);
}
#undef VS_VERSION
#undef VS_TEXT

}  // extern "C"
