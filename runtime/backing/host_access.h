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
  std::string failure;  // What went wrong first; empty when all three hold.

  bool ok() const { return readable && writable && atomic; }
};

// Runs the kernels on one chunk of host memory and compares. An error: the probe could not be made.
// A kernel that faults kills its context: `context` should be one that nothing else uses.
StatusOr<HostAccess> ProbeHostAccess(std::shared_ptr<const Driver> driver,
                                     const Capabilities& device, CUcontext context,
                                     const ProbeKernels& kernels);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BACKING_HOST_ACCESS_H_
