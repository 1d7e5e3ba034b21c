// A device's UUID, as CUDA has it in bytes and as people and NVML write it.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_DEVICE_NAME_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_DEVICE_NAME_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vramspan::broker {

using Uuid = std::array<uint8_t, 16>;

// "GPU-01234567-89ab-cdef-0123-456789abcdef".
std::string UuidText(const Uuid& uuid);
// The same, read. None: it is something else.
std::optional<Uuid> ParseUuid(std::string_view text);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_DEVICE_NAME_H_
