// What names tenants, processes and revisions, and the two kinds of memory that are shared out.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_NAMES_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_NAMES_H_

#include <array>
#include <compare>
#include <cstdint>

namespace vramspan::broker {

// Names a tenant: a cgroup. 0 is the root, which every other tenant is inside of.
struct TenantId {
  uint64_t value = 0;

  constexpr TenantId() = default;
  constexpr explicit TenantId(uint64_t v) : value(v) {}
  constexpr auto operator<=>(const TenantId&) const = default;
};
inline constexpr TenantId kRoot{0};

// Names a connected process. It is never used for another one. 0 is no process.
struct ProcessId {
  uint64_t value = 0;

  constexpr ProcessId() = default;
  constexpr explicit ProcessId(uint64_t v) : value(v) {}
  constexpr auto operator<=>(const ProcessId&) const = default;
  constexpr explicit operator bool() const { return value != 0; }
};

// Counts what a process was told. A later grant or recall has a larger one.
struct Revision {
  uint64_t value = 0;

  constexpr Revision() = default;
  constexpr explicit Revision(uint64_t v) : value(v) {}
  constexpr auto operator<=>(const Revision&) const = default;
};

enum class Place : uint8_t { kDevice, kHost };
inline constexpr std::array kPlaces = {Place::kDevice, Place::kHost};

template <typename T>
struct PerPlace {
  std::array<T, 2> values = {};

  constexpr T& operator[](Place place) { return values[static_cast<size_t>(place)]; }
  constexpr const T& operator[](Place place) const { return values[static_cast<size_t>(place)]; }
  bool operator==(const PerPlace&) const = default;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_NAMES_H_
