// An address as messages name it.
//
// Threads: any.
#ifndef VRAMSPAN_RUNTIME_MEMORY_ADDRESS_TEXT_H_
#define VRAMSPAN_RUNTIME_MEMORY_ADDRESS_TEXT_H_

#include <absl/strings/str_format.h>

#include <string>

#include "runtime/base/units.h"

namespace vramspan {

inline std::string AddressText(DevicePtr p) { return absl::StrFormat("0x%x", p.value); }

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MEMORY_ADDRESS_TEXT_H_
