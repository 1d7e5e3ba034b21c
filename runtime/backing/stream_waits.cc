#include "runtime/backing/stream_waits.h"

#include <absl/strings/str_cat.h>

#include <cstdint>
#include <cstring>

#include "runtime/driver/surroundings.h"

namespace vramspan {
namespace {

Status WaitAndWrite(const Driver& driver, CUstream stream, CUdeviceptr word) {
  VS_RETURN_IF_ERROR(Check(driver->StreamWaitValue32(stream, word, 0, CU_STREAM_WAIT_VALUE_GEQ),
                           "cuStreamWaitValue32"));
  return Check(driver->StreamWriteValue32(stream, word, 1, CU_STREAM_WRITE_VALUE_DEFAULT),
               "cuStreamWriteValue32");
}

}  // namespace

Status TryStreamWaits(const Driver& driver, CUcontext context, const Capabilities& device) {
  const ScopedContext current(driver, context);
  VS_RETURN_IF_ERROR(current.status());
  void* word = nullptr;
  VS_RETURN_IF_ERROR(
      Check(driver->MemHostAlloc(&word, sizeof(uint32_t),
                                 CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE),
            "cuMemHostAlloc", "for a trial"));
  std::memset(word, 0, sizeof(uint32_t));
  CUdeviceptr address = 0;
  VS_RETURN_IF_ERROR(Check(driver->MemHostGetDevicePointer(&address, word, 0),
                           "cuMemHostGetDevicePointer", "for a trial"));
  CUstream stream = nullptr;
  VS_RETURN_IF_ERROR(Check(driver->StreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate",
                           "for a trial"));
  const Status tried = WaitAndWrite(driver, stream, address);
  driver.RecordBackgroundError(
      Check(driver->StreamDestroy(stream), "cuStreamDestroy", "of a trial"));
  if (tried.ok()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("device ", device.ordinal, " (", device.name,
                   ") has no stream memory operations, so launches cannot be held (",
                   tried.message(), "); ", WhatHelps(driver, device.name)));
}

}  // namespace vramspan
