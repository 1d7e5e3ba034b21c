// What kernels may be trusted for on this machine (docs/trust.md).
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_INFO_EVIDENCE_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_INFO_EVIDENCE_H_

#include <cuda.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/driver/driver.h"

namespace vramspan::info {

// A trust file, or what is built in.
struct TrustSource {
  std::string name;
  Status read;          // Why it says nothing.
  uint64_t proven = 0;  // Codes.
};

// What is built in comes first, then the files of VRAMSPAN_TRUST.
std::vector<TrustSource> TrustSources();

// The nvdisasm that reads code as programs run. An error says that there is none, and what to do.
StatusOr<std::string> CodeReader();

// Whether an audit can count here. The context is current.
Status CountersCanBeRead(const Driver& driver, CUdevice device, CUcontext context);

}  // namespace vramspan::info

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_INFO_EVIDENCE_H_
