// The next pointer seen ends a range, against a plain set of the pointers: thousands of them, in
// any order, while allocations come and go.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "runtime/observe/working_sets.h"

namespace vramspan {
namespace {

constexpr uint64_t kFirst = 0x7000'0000'0000;
constexpr uint64_t kStep = uint64_t{1} << 30;
constexpr uint64_t kCount = 5;
constexpr Bytes kAllocated = MiB(256);

Extent FindAllocated(DevicePtr p) {
  const uint64_t offset = p.value - kFirst;
  if (offset / kStep >= kCount || offset % kStep >= kAllocated.value) return {};
  return {DevicePtr(p.value - offset % kStep), kAllocated};
}

TEST(Boundaries, AreThePointersSeen) {
  // Few launches for each pointer, and all of one code: no boundary is taken back.
  constexpr uint64_t kPlaces = 3000;
  WorkingSets sets{Bytes(0)};
  std::map<uint64_t, std::set<uint64_t>> seen;  // By allocation.
  std::mt19937_64 random(3);
  std::vector<InferredRange> ranges;
  for (int launch = 0; launch < 8000; ++launch) {
    Submission s;
    s.kind = Submission::Kind::kKernel;
    for (uint64_t n = 1 + random() % 8; n > 0; --n) {
      const uint64_t base = kFirst + random() % kCount * kStep;
      const uint64_t at = random() % kPlaces * (kAllocated.value / kPlaces & ~uint64_t{255});
      s.touches.push_back({.ptr = DevicePtr(base + at)});
      seen[base].insert(base + at);
    }
    sets.Infer(
        s, false, [](const Touch& touch) { return FindAllocated(touch.ptr); }, &ranges);
    ASSERT_EQ(ranges.size(), s.touches.size());
    for (size_t i = 0; i < ranges.size(); ++i) {
      const DevicePtr p = s.touches[i].ptr;
      const DevicePtr base = FindAllocated(p).base;
      const auto next = seen[base.value].upper_bound(p.value);
      const uint64_t end = next == seen[base.value].end() ? (base + kAllocated).value : *next;
      ASSERT_EQ(ranges[i].ptr, p);
      ASSERT_EQ(ranges[i].size.value, end - p.value) << launch << ": pointer " << i;
    }
    if (random() % 1500 != 0) continue;
    const DevicePtr freed(kFirst + random() % kCount * kStep);
    sets.Forget(freed);
    seen.erase(freed.value);
  }
}

}  // namespace
}  // namespace vramspan
