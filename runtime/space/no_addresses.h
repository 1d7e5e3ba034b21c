// Errors for want of addresses: no memory that comes free helps.
#ifndef VRAMSPAN_RUNTIME_SPACE_NO_ADDRESSES_H_
#define VRAMSPAN_RUNTIME_SPACE_NO_ADDRESSES_H_

#include <absl/strings/cord.h>

#include <string_view>

#include "runtime/base/status.h"

namespace vramspan {

inline constexpr char kNoAddressesPayload[] = "vramspan/no-addresses";

// ResourceExhausted, and known from one for want of memory.
inline Status NoAddresses(std::string_view text) {
  Status status = absl::ResourceExhaustedError(text);
  status.SetPayload(kNoAddressesPayload, absl::Cord());
  return status;
}

inline bool LacksAddresses(const Status& status) {
  return status.GetPayload(kNoAddressesPayload).has_value();
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SPACE_NO_ADDRESSES_H_
