#include "runtime/scheduler/large_works.h"

#include <absl/algorithm/container.h>
#include <absl/container/inlined_vector.h>

#include <algorithm>

namespace vramspan {
namespace {

// Choices, seen on an H200 with seven unlike loads
// (docs/findings/0059-launches-larger-than-the-room.md).
// An argument is small beside one that is so many times as large.
constexpr uint64_t kSmaller = 8;
// Small ones together take this part of the room at most.
constexpr uint64_t kPart = 2;
// Where no more than such a part of what is missing could come, nothing is to.
constexpr uint64_t kLittle = 8;

struct Argument {
  uint16_t slot;
  Bytes size;
  bool lacks = false;  // Some of it is on the host, and may come.
  bool small = false;
};
using Arguments = absl::InlinedVector<Argument, 16>;

Argument& Of(uint16_t slot, Arguments* arguments) {
  // An argument's chunks follow each other, mostly.
  if (!arguments->empty() && arguments->back().slot == slot) return arguments->back();
  const auto found = absl::c_find_if(*arguments, [&](const Argument& a) { return a.slot == slot; });
  return found == arguments->end() ? arguments->emplace_back(Argument{.slot = slot}) : *found;
}

// Whether some of the small ones is lacking.
bool MarkSmall(Bytes room, Arguments* arguments) {
  absl::c_stable_sort(*arguments,
                      [](const Argument& a, const Argument& b) { return a.size < b.size; });
  Bytes taken;
  bool lacks = false;
  for (Argument& a : *arguments) {
    taken += a.size;
    const bool small = a.size.value <= arguments->back().size.value / kSmaller;
    if (!small || taken.value > room.value / kPart) break;
    a.small = true;
    lacks |= a.lacks;
  }
  return lacks;
}

}  // namespace

bool ServeLarge(Work* work, const Residency& residency, Bytes room) {
  // Most launches: no chunk is larger.
  if (work->uses.size() <= room.value >> kMaxChunkLog2) return false;
  Bytes all;
  for (const ChunkUse& use : work->uses) all += residency[use.chunk].size();
  if (all <= room) return false;
  Arguments arguments;
  Bytes here, missing;
  for (size_t i = 0; i < work->uses.size(); ++i) {
    const Chunk& c = residency[work->uses[i].chunk];
    const bool lacks = !c.on_device && residency.Movable(c) && !work->serves(i);
    Argument& argument = Of(work->uses[i].how.slot, &arguments);
    argument.size += c.size();
    argument.lacks |= lacks;
    if (c.on_device) here += c.size();
    if (lacks) missing += c.size();
  }
  if (missing == Bytes(0)) return false;
  const bool comes = MarkSmall(room, &arguments);
  const Bytes others = here < room ? room - here : Bytes(0);
  if (!comes && others.value > missing.value / kLittle) return false;
  work->wanted.in_place.resize(work->uses.size());
  for (size_t i = 0; i < work->uses.size(); ++i) {
    const bool small = comes && Of(work->uses[i].how.slot, &arguments).small;
    if (!small) work->wanted.in_place[i] = 1;
  }
  return true;
}

}  // namespace vramspan
