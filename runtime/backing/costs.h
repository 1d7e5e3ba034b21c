// What moving chunks costs on this device, measured: the figures that plans are priced with.
#ifndef VRAMSPAN_RUNTIME_BACKING_COSTS_H_
#define VRAMSPAN_RUNTIME_BACKING_COSTS_H_

#include <array>
#include <memory>
#include <optional>

#include "runtime/backing/probe_kernels.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "runtime/driver/driver.h"

namespace vramspan {

// One handle's life, in microseconds; medians.
struct HandleCosts {
  double create = 0, map = 0, access = 0, unmap = 0, release = 0;
};

struct ChunkCosts {
  // None where this machine had no room for a chunk of that size.
  std::optional<HandleCosts> device;
  std::optional<HandleCosts> host;
};

struct DeviceCosts {
  std::array<ChunkCosts, kChunkSizeCount> chunks;  // By log2 - kMinChunkLog2.
  // GB/s (10^9 bytes) between host chunks and device chunks, in the largest chunks there was room
  // for; `copy_both` is the sum when both ways run at once.
  double copy_to_device = 0, copy_to_host = 0, copy_both = 0;
  // GB/s of a kernel that streams through host chunks. None without kernels.
  std::optional<double> kernel_read, kernel_write;
  // Microseconds: putting a wait into a stream; and from the flag's write to the stream's going on.
  double hold_call = 0, hold_release = 0;
};

// Takes about a second and up to 256 MiB of each memory, less where there is less. `kernels` may be
// null. Nothing else should run on the device meanwhile; what does shows in the figures.
StatusOr<DeviceCosts> MeasureCosts(std::shared_ptr<const Driver> driver, const Capabilities& device,
                                   CUcontext context, const ProbeKernels* kernels);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BACKING_COSTS_H_
