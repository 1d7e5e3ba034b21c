// From where host memory for chunks can be had, found by trying: drivers before CUDA 12.9 do not
// say that they can, and one that says so need not give memory of every NUMA node.
#ifndef VRAMSPAN_RUNTIME_BACKING_HOST_PLACE_H_
#define VRAMSPAN_RUNTIME_BACKING_HOST_PLACE_H_

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/driver/driver.h"

namespace vramspan {

// "NUMA node 1", or "any NUMA node".
std::string PlaceText(const CUmemLocation& location);

// The numbers of a kernel's list ("0-1,4"), at most 64; what cannot be read ends it.
std::vector<int> ParseNodes(std::string_view list);

// Makes a chunk, maps it and gives the device access: of the node next to it, else of other nodes
// with processors, else wherever the driver likes (CU_MEM_LOCATION_TYPE_HOST). The first place that
// works, or else one that is only out of memory now, goes into `device`. FailedPrecondition, with
// what each place answered and what helps, where there is none, and under WSL2 where the driver
// does not say that it can. Nothing is tried where the host has no room (host_room.h): OK, with the
// nearest node. No GPU work is submitted or waited for. `root` is prepended to paths, for tests.
Status FindHostPlace(const Driver& driver, CUcontext context, Capabilities* device,
                     const std::string& root = {});

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BACKING_HOST_PLACE_H_
