#include "runtime/scheduler/overlap.h"

#include <gtest/gtest.h>

namespace vramspan {
namespace {

TEST(OverlapTest, ItsNamesAreItsOwn) {
  for (const Overlap overlap : kOverlaps) EXPECT_EQ(OverlapOf(OverlapName(overlap)), overlap);
  EXPECT_FALSE(OverlapOf("").has_value());
  EXPECT_FALSE(OverlapOf("Auto").has_value());
  EXPECT_EQ(kDefaultOverlap, Overlap::kAuto);
}

TEST(OverlapTest, TheDefaultGoesByTrust) {
  const auto beside = [](Trust trust) { return BesideLaunch(Overlap::kAuto, trust); };
  EXPECT_FALSE(beside(Trust::kUntried).moves());
  EXPECT_EQ(beside(Trust::kUntried).access, Access::kPartial);
  EXPECT_EQ(beside(Trust::kPlausible).access, Access::kMapped);
  EXPECT_EQ(beside(Trust::kProven).access, Access::kExact);
  EXPECT_FALSE(beside(Trust::kProven).beyond_ends) << "no audit has asked";
}

TEST(OverlapTest, TheOthersHoldForAllOrForProvenOnes) {
  for (const Trust trust : {Trust::kUntried, Trust::kPlausible, Trust::kProven}) {
    EXPECT_FALSE(BesideLaunch(Overlap::kOff, trust).moves());
    EXPECT_EQ(BesideLaunch(Overlap::kProven, trust).moves(), trust == Trust::kProven);
    EXPECT_EQ(BesideLaunch(Overlap::kSafe, trust).access, Access::kExact);
    EXPECT_FALSE(BesideLaunch(Overlap::kSafe, trust).beyond_ends);
    EXPECT_EQ(BesideLaunch(Overlap::kAll, trust).access, Access::kExact);
    EXPECT_TRUE(BesideLaunch(Overlap::kAll, trust).beyond_ends);
  }
}

}  // namespace
}  // namespace vramspan
