#include "runtime/api/found_runtime.h"

#include <absl/strings/str_cat.h>

#include <exception>
#include <new>

#include "runtime/api/check_enum.h"
#include "runtime/api/last_error.h"
#include "runtime/base/own_calls.h"

namespace vramspan {
namespace {

template <typename Body>
CUresult OnFound(Runtime* runtime, Body body) {
  const OwnCalls own;
  try {
    return Report(body(*runtime));
  } catch (const std::bad_alloc&) {
    return Report(absl::ResourceExhaustedError("the process is out of memory"));
  } catch (const std::exception& e) {
    return Report(absl::InternalError(e.what()));
  }
}

CUresult NotOurs(CUdeviceptr ptr) {
  return Report(absl::NotFoundError(
      absl::StrCat("vramspan backs no memory of this process at 0x", absl::Hex(ptr))));
}

}  // namespace

Status CopyStatistics(Runtime& runtime, vramspanStatistics* out) {
  if (out == nullptr) return absl::InvalidArgumentError("the out-parameter is NULL");
  if (out->struct_size != sizeof(vramspanStatistics)) {
    return absl::InvalidArgumentError(
        absl::StrCat("vramspanStatistics.struct_size is ", out->struct_size,
                     "; set it to sizeof(vramspanStatistics), ", sizeof(vramspanStatistics)));
  }
  *out = runtime.Statistics();
  return absl::OkStatus();
}

Status Prefetch(Runtime& runtime, CUdeviceptr ptr, size_t size, const vramspanLocation& to,
                CUstream stream) {
  VS_RETURN_IF_ERROR(CheckEnum(to, VRAMSPAN_LOCATION_HOST, "location"));
  VS_RETURN_IF_ERROR(runtime.memory().Find(DevicePtr(ptr)).status());
  return runtime.mover().Prefetch(DevicePtr(ptr), Bytes(size), to == VRAMSPAN_LOCATION_DEVICE,
                                  stream);
}

Status Discard(Runtime& runtime, CUdeviceptr ptr, size_t size, CUstream stream) {
  VS_ASSIGN_OR_RETURN(const Allocation a, runtime.memory().Find(DevicePtr(ptr)));
  const Driver& driver = *runtime.driver();
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  {
    ScopedContext current(driver, runtime.memory().options().context);
    VS_RETURN_IF_ERROR(current.status());
    const CUresult result = driver->StreamIsCapturing(stream, &capture);
    // The legacy stream beside one that captures.
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return absl::OkStatus();
    VS_RETURN_IF_ERROR(Check(result, "cuStreamIsCapturing"));
  }
  if (capture != CU_STREAM_CAPTURE_STATUS_NONE) return absl::OkStatus();
  // Of an allocation's last chunk nothing else is in use than what was asked for.
  const bool to_the_end = Bytes(size) >= a.base + a.requested - DevicePtr(ptr);
  return runtime.GiveUp(DevicePtr(ptr),
                        to_the_end ? a.base + a.reserved - DevicePtr(ptr) : Bytes(size),
                        /*unowned=*/false);
}

CUresult StatisticsOfFound(Runtime* runtime, int device, vramspanStatistics* out) {
  if (runtime == nullptr) {
    return Report(absl::NotFoundError(
        absl::StrCat("vramspan has backed no memory of this process on device ", device)));
  }
  return OnFound(runtime, [&](Runtime& r) { return CopyStatistics(r, out); });
}

CUresult PinInFound(Runtime* runtime, CUdeviceptr ptr, size_t size) {
  if (runtime == nullptr) return NotOurs(ptr);
  return OnFound(runtime, [&](Runtime& r) { return r.mover().Pin(DevicePtr(ptr), Bytes(size)); });
}

CUresult UnpinInFound(Runtime* runtime, CUdeviceptr ptr, size_t size) {
  if (runtime == nullptr) return NotOurs(ptr);
  return OnFound(runtime, [&](Runtime& r) { return r.mover().Unpin(DevicePtr(ptr), Bytes(size)); });
}

CUresult PrefetchInFound(Runtime* runtime, CUdeviceptr ptr, size_t size, const vramspanLocation& to,
                         CUstream stream) {
  if (runtime == nullptr) return NotOurs(ptr);
  return OnFound(runtime, [&](Runtime& r) { return Prefetch(r, ptr, size, to, stream); });
}

CUresult DiscardInFound(Runtime* runtime, CUdeviceptr ptr, size_t size, CUstream stream) {
  if (runtime == nullptr) return NotOurs(ptr);
  return OnFound(runtime, [&](Runtime& r) { return Discard(r, ptr, size, stream); });
}

}  // namespace vramspan
