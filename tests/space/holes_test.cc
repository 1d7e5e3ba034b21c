#include "runtime/space/holes.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace vramspan {
namespace {

constexpr DevicePtr kHolesBase(0x400000000000);

TEST(Holes, TakesTheLowestThatFits) {
  Holes holes;
  holes.Give(kHolesBase, MiB(4));
  holes.Give(kHolesBase + MiB(8), MiB(16));
  holes.Give(kHolesBase + MiB(64), MiB(64));
  EXPECT_EQ(holes.Take(MiB(8), MiB(2)), kHolesBase + MiB(8));
  EXPECT_EQ(holes.Take(MiB(4), MiB(2)), kHolesBase);
  EXPECT_EQ(holes.Take(MiB(8), MiB(2)), kHolesBase + MiB(16));
  EXPECT_EQ(holes.Take(MiB(2), MiB(2)), kHolesBase + MiB(64));
  EXPECT_EQ(holes.count(), 1u);
  holes.CheckInvariants();
}

TEST(Holes, MergesOnBothSides) {
  Holes holes;
  holes.Give(kHolesBase, MiB(2));
  holes.Give(kHolesBase + MiB(4), MiB(2));
  EXPECT_EQ(holes.count(), 2u);
  holes.Give(kHolesBase + MiB(2), MiB(2));
  EXPECT_EQ(holes.count(), 1u);
  EXPECT_EQ(holes.largest(), MiB(6));
  EXPECT_EQ(holes.total(), MiB(6));
  holes.CheckInvariants();
}

TEST(Holes, AlignsInsideAHole) {
  Holes holes;
  holes.Give(kHolesBase + MiB(2), MiB(254));
  EXPECT_EQ(holes.Take(MiB(64), MiB(64)), kHolesBase + MiB(64));
  EXPECT_EQ(holes.count(), 2u);
  EXPECT_EQ(holes.Take(MiB(62), MiB(2)), kHolesBase + MiB(2));
  EXPECT_EQ(holes.Take(MiB(128), MiB(128)), kHolesBase + MiB(128));
  EXPECT_EQ(holes.count(), 0u);
  EXPECT_EQ(holes.Take(MiB(2), MiB(2)), std::nullopt);
}

TEST(Holes, FindsTheOneAlignedHoleAmongManyThatAreNot) {
  Holes holes;
  for (uint64_t i = 0; i < 1000; ++i) holes.Give(kHolesBase + MiB(128 * i + 2), MiB(64));
  holes.Give(kHolesBase + MiB(128 * 1000), MiB(64));
  EXPECT_EQ(holes.Take(MiB(64), MiB(64)), kHolesBase + MiB(128 * 1000));
  EXPECT_EQ(holes.Take(MiB(64), MiB(64)), std::nullopt);
}

TEST(HolesDeathTest, StopsADoubleGive) {
  Holes holes;
  holes.Give(kHolesBase, MiB(8));
  EXPECT_DEATH(holes.Give(kHolesBase, MiB(2)), "broken invariant");
  EXPECT_DEATH(holes.Give(kHolesBase + MiB(6), MiB(4)), "broken invariant");
  EXPECT_DEATH(holes.Give(kHolesBase - MiB(2), MiB(4)), "broken invariant");
  EXPECT_DEATH(holes.Give(kHolesBase + MiB(32), Bytes(0)), "broken invariant");
}

// A sorted list of holes, searched from the start.
struct Model {
  std::map<uint64_t, uint64_t> holes;

  uint64_t Take(uint64_t size, uint64_t alignment) {
    for (auto [start, length] : holes) {
      const uint64_t p = (start + alignment - 1) / alignment * alignment;
      if (p + size > start + length) continue;
      holes.erase(start);
      if (p > start) holes[start] = p - start;
      if (p + size < start + length) holes[p + size] = start + length - p - size;
      return p;
    }
    return 0;
  }
  void Give(uint64_t p, uint64_t size) {
    auto next = holes.lower_bound(p);
    if (next != holes.end() && next->first == p + size) {
      size += next->second;
      next = holes.erase(next);
    }
    if (next != holes.begin() && std::prev(next)->first + std::prev(next)->second == p) {
      std::prev(next)->second += size;
    } else {
      holes[p] = size;
    }
  }
};

class HolesProperty : public ::testing::TestWithParam<int> {};

TEST_P(HolesProperty, AgreesWithAModel) {
  std::mt19937_64 random(GetParam());
  // Small, so that it is often full: refusals are compared too.
  const uint64_t units = 64 + random() % 1024;
  Holes holes;
  Model model;
  holes.Give(kHolesBase, kGranularity * units);
  model.Give(kHolesBase.value, (kGranularity * units).value);
  std::vector<std::pair<DevicePtr, Bytes>> taken;
  size_t refused = 0;
  for (int i = 0; i < 4'000; ++i) {
    if (taken.empty() || random() % 9 < 5) {
      const Bytes size = kGranularity * (1 + random() % 24);
      const Bytes alignment = kGranularity * (1u << (random() % 5));
      const auto p = holes.Take(size, alignment);
      const uint64_t expected = model.Take(size.value, alignment.value);
      ASSERT_EQ(p.value_or(DevicePtr()).value, expected);
      if (p.has_value()) taken.emplace_back(*p, size);
      refused += p.has_value() ? 0 : 1;
    } else {
      std::swap(taken[random() % taken.size()], taken.back());
      holes.Give(taken.back().first, taken.back().second);
      model.Give(taken.back().first.value, taken.back().second.value);
      taken.pop_back();
    }
    ASSERT_EQ(holes.count(), model.holes.size());
    if (i % 64 == 0) holes.CheckInvariants();
  }
  EXPECT_GT(refused, 0u);
  for (const auto& [p, size] : taken) holes.Give(p, size);
  EXPECT_EQ(holes.count(), 1u);
  EXPECT_EQ(holes.total(), kGranularity * units);
  EXPECT_EQ(holes.largest(), kGranularity * units);
}
INSTANTIATE_TEST_SUITE_P(Seeds, HolesProperty, ::testing::Range(1, 9));

// Half a million holes of one granule in front, and each Take needs to get past them all: with a
// scan this would take hours, with the tree it takes under a second.
TEST(Holes, ManyHolesInFrontCostNothing) {
  constexpr uint64_t kMany = 500'000;
  Holes holes;
  for (uint64_t i = 0; i < kMany; ++i)
    holes.Give(kHolesBase + kGranularity * (2 * i), kGranularity);
  const DevicePtr rest = kHolesBase + kGranularity * (2 * kMany);
  holes.Give(rest, kGranularity * (4 * kMany));
  for (uint64_t i = 0; i < kMany; ++i) {
    ASSERT_EQ(holes.Take(MiB(4), MiB(2)), rest + MiB(4) * i);
  }
  EXPECT_EQ(holes.count(), kMany + 1);
  holes.CheckInvariants();
}

}  // namespace
}  // namespace vramspan
