// Whether kernels of a device really reach host-backed chunks. Attributes only promise it; this
// tries it.
#ifndef VRAMSPAN_RUNTIME_BACKING_HOST_ACCESS_H_
#define VRAMSPAN_RUNTIME_BACKING_HOST_ACCESS_H_

#include <memory>
#include <string>

#include "runtime/backing/probe_kernels.h"
#include "runtime/base/status.h"
#include "runtime/driver/driver.h"

namespace vramspan {

struct HostAccess {
  bool readable = false;
  bool writable = false;
  bool atomic = false;
  bool by_kernel = false;  // Else only copies tried, and not atomics.
  std::string failure;     // What went wrong first; empty where all that was tried holds.

  bool ok() const { return readable && writable && (atomic || !by_kernel); }
};

// Runs the kernels on one chunk of host memory and compares; copies where `kernels` is null. An
// error: the probe could not be made.
// A kernel that faults kills its context: `context` should be one that nothing else uses.
StatusOr<HostAccess> ProbeHostAccess(std::shared_ptr<const Driver> driver,
                                     const Capabilities& device, CUcontext context,
                                     const ProbeKernels* kernels);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BACKING_HOST_ACCESS_H_
