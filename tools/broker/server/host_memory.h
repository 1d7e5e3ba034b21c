// How much host memory there is to pin, and how much of it others use.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_HOST_MEMORY_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_HOST_MEMORY_H_

#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/base/units.h"

namespace vramspan::broker {

struct HostUse {
  Bytes total;      // What may be pinned at most: the machine's, or the daemon's cgroup's limit.
  Bytes available;  // Of that, what the kernel would give now.
};

// Of the text of /proc/meminfo. None: it says neither.
std::optional<HostUse> ReadMeminfo(std::string_view text);

class HostMemory {
 public:
  // `stated`: so much, and nobody else uses any. For tests. `proc` is /proc but in tests.
  HostMemory(std::optional<Bytes> stated, const std::string& proc)
      : stated_(stated), meminfo_(proc + "/meminfo") {}

  StatusOr<HostUse> Look() const;
  bool stated() const { return stated_.has_value(); }
  // What of it is never granted, for the rest of the system: a tenth. A choice.
  Bytes Granted(Bytes total) const;

 private:
  const std::optional<Bytes> stated_;
  const std::string meminfo_;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_HOST_MEMORY_H_
