#include "tools/broker/server/refusal_text.h"

#include <absl/strings/str_cat.h>

#include "tools/broker/core/amounts.h"

namespace vramspan::broker {

std::string RefusalText(Refusal refusal, const Device& device) {
  switch (refusal) {
    case Refusal::kPolicy:
      return absl::StrCat("a weight is 1 to ", kMostWeight,
                          ", and a guarantee is no more than the limit");
    case Refusal::kGuarantee: {
      const Bytes capacity = device.state.pools[Place::kDevice].capacity;
      const Bytes most = Minus(capacity, device.state.settings.Reserve(capacity));
      return absl::StrCat("the guarantees would be more than ", device.name, " has to give (",
                          most.value >> 20, " MiB of device memory, ",
                          device.state.pools[Place::kHost].capacity.value >> 20,
                          " MiB of host memory), or than the tenant around them is guaranteed");
    }
    case Refusal::kInUse:
      return "the tenant has processes or tenants inside";
    case Refusal::kKnown:
      return "the tenant is there already";
    case Refusal::kNone:
    case Refusal::kUnknown:
    case Refusal::kBusy:
    case Refusal::kShare:
    case Refusal::kNoRoom:
    case Refusal::kNotNow:
      break;
  }
  return "there is no such tenant";
}

}  // namespace vramspan::broker
