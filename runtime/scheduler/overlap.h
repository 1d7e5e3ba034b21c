// What may happen to memory that a traced launch does not name, while the launch runs: by what the
// user allows (docs/overlap.md), and by how far the launch's code is trusted.
//
// Pure.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_OVERLAP_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_OVERLAP_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/base/trust.h"
#include "runtime/scheduler/work.h"

namespace vramspan {

enum class Overlap : uint8_t {
  kOff,     // Nothing moves beside any launch.
  kProven,  // Beside launches of proven code, what is outside their possible ranges.
  kAuto,    // The same, and beside plausible code what is outside its possible ranges, mapped.
  kSafe,    // Beside all launches what is outside their possible ranges, mapped or not.
  kAll,     // The same, and what lies beyond a proven end of a likely range.
};
inline constexpr std::array<Overlap, 5> kOverlaps = {
    Overlap::kAuto, Overlap::kOff, Overlap::kProven, Overlap::kSafe, Overlap::kAll};
inline constexpr Overlap kDefaultOverlap = Overlap::kAuto;

constexpr const char* OverlapName(Overlap overlap) {
  switch (overlap) {
    case Overlap::kOff:
      return "off";
    case Overlap::kProven:
      return "proven";
    case Overlap::kAuto:
      return "auto";
    case Overlap::kSafe:
      return "safe";
    case Overlap::kAll:
      return "all";
  }
  return "";
}
constexpr std::optional<Overlap> OverlapOf(std::string_view name) {
  for (const Overlap overlap : kOverlaps) {
    if (name == OverlapName(overlap)) return overlap;
  }
  return std::nullopt;
}

// Beside a launch whose memory can be told.
struct Beside {
  Access access = Access::kPartial;  // kPartial: nothing moves.
  bool beyond_ends = false;          // What lies beyond a proven end may move.

  bool moves() const { return access != Access::kPartial; }
};

// `trust`: of its code, or the least of a graph's.
constexpr Beside BesideLaunch(Overlap overlap, Trust trust) {
  constexpr Beside kNothing{};
  constexpr Beside kOutside{.access = Access::kExact};
  constexpr Beside kOutsideMapped{.access = Access::kMapped};
  constexpr Beside kAllOutside{.access = Access::kExact, .beyond_ends = true};
  switch (overlap) {
    case Overlap::kOff:
      return kNothing;
    case Overlap::kProven:
      return trust >= Trust::kProven ? kOutside : kNothing;
    case Overlap::kAuto:
      if (trust == Trust::kPlausible) return kOutsideMapped;
      return trust >= Trust::kProven ? kOutside : kNothing;
    case Overlap::kSafe:
      return kOutside;
    case Overlap::kAll:
      return kAllOutside;
  }
  return kNothing;
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_OVERLAP_H_
