#include "runtime/memory/drains.h"

namespace vramspan {

Status DrainContext(const Driver& driver, CUcontext context, CUdeviceptr* left) {
  ScopedContext current(driver, context);
  VS_RETURN_IF_ERROR(current.status());
  // The one call that waits for all of a context's work, streams unknown to us included, and that a
  // capture elsewhere survives (in relaxed mode; measured). cuCtxSynchronize would ruin it.
  CUdeviceptr p = 0;
  VS_RETURN_IF_ERROR(
      Check(driver->MemAlloc(&p, 256), "cuMemAlloc", "256, to wait for earlier work"));
  const Status status = Check(driver->MemFree(p), "cuMemFree", "to wait for earlier work");
  if (!status.ok()) *left = p;
  return status;
}

Status Drains::Open() {
  ScopedContext current(state_.driver(), state_.options().context);
  VS_RETURN_IF_ERROR(current.status());
  return Check(state_.driver()->MemAlloc(&keeper_, 256), "cuMemAlloc", "256");
}

void Drains::Close() {
  if (keeper_ != 0) left_.push_back(keeper_);
  for (const CUdeviceptr p : left_) {
    state_.driver().RecordBackgroundError(Check(state_.driver()->MemFree(p), "cuMemFree", "256"));
  }
}

Status Drains::Drain() {
  CUdeviceptr left = 0;
  const Status status = DrainContext(state_.driver(), state_.options().context, &left);
  if (left != 0) {
    MutexLock lock(state_.mu);
    left_.push_back(left);
  }
  return status;
}

}  // namespace vramspan
