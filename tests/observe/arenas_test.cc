#include "runtime/observe/arenas.h"

#include <gmock/gmock.h>

#include <utility>

namespace vramspan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::pair<uint64_t, uint64_t>> Clipped(const Arenas& arenas, uint64_t base,
                                                   uint64_t size) {
  std::vector<std::pair<uint64_t, uint64_t>> pieces;
  arenas.set().Clip(base, size, [&](uint64_t from, uint64_t n) { pieces.push_back({from, n}); });
  return pieces;
}

TEST(Arenas, WithoutOneNothingIsOurs) {
  const Arenas arenas;
  for (const uint64_t value : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
    EXPECT_FALSE(arenas.set().Has(value));
  }
  EXPECT_THAT(Clipped(arenas, 0, ~uint64_t{0}), IsEmpty());
}

TEST(Arenas, HoldTheirRangesOnly) {
  Arenas arenas;
  arenas.Add(DevicePtr(1000), Bytes(100));
  EXPECT_FALSE(arenas.set().Has(999));
  EXPECT_TRUE(arenas.set().Has(1000));
  EXPECT_TRUE(arenas.set().Has(1099));
  EXPECT_FALSE(arenas.set().Has(1100));
  arenas.Add(DevicePtr(3000), Bytes(100));
  EXPECT_TRUE(arenas.set().Has(1000));
  EXPECT_TRUE(arenas.set().Has(3099));
  EXPECT_FALSE(arenas.set().Has(2000));
  EXPECT_THAT(Clipped(arenas, 1050, 2000), ElementsAre(std::pair(1050, 50), std::pair(3000, 50)));
  arenas.Remove(DevicePtr(1000));
  EXPECT_FALSE(arenas.set().Has(1000));
  EXPECT_TRUE(arenas.set().Has(3000));
}

}  // namespace
}  // namespace vramspan
