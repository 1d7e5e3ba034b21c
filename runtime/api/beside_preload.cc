#include "runtime/api/beside_preload.h"

#include <dlfcn.h>

namespace vramspan {

Status HavePreloadStandAside() {
  using StandAside = int (*)();
  static const auto stand_aside =
      reinterpret_cast<StandAside>(dlsym(RTLD_DEFAULT, "vramspanPreloadStandAside"));
  if (stand_aside == nullptr || stand_aside() == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the program can have no runtime of its own, because `vramspan run` has given it memory "
      "already; start it without `vramspan run`, or make the runtime before the first allocation");
}

}  // namespace vramspan
