// Which budgets follow from what a broker has said.
#include "runtime/api/lease_rule.h"

#include <gtest/gtest.h>

namespace vramspan {
namespace {

using lease::Session;
using lease::Standing;

constexpr LeaseBounds kBounds = {.alone = {GiB(70), GiB(100)}, .ceilings = {GiB(80), GiB(200)}};
constexpr Budgets kBefore = {GiB(1), GiB(100)};

Standing Told(Bytes device, Bytes host) {
  Standing s;
  s.state = Session::State::kMember;
  s.grants = {.revision = 2, .device = device, .host = host};
  s.told_device = s.told_host = true;
  return s;
}

TEST(LeaseRule, BudgetsAreTheGrantsWithinWhatTheUserAllows) {
  EXPECT_EQ(BudgetsOf(Told(GiB(40), GiB(50)), kBounds, kBefore), (Budgets{GiB(40), GiB(50)}));
  EXPECT_EQ(BudgetsOf(Told(GiB(90), GiB(300)), kBounds, kBefore), kBounds.ceilings);
  EXPECT_EQ(BudgetsOf(Told(MiB(3), GiB(1)), kBounds, kBefore).device, MiB(2)) << "whole chunks";
}

TEST(LeaseRule, WhatIsRecalledIsNoLongerUsed) {
  Standing s = Told(GiB(40), GiB(50));
  s.device_recalled = GiB(10);
  s.host_recalled = GiB(50);
  EXPECT_EQ(BudgetsOf(s, kBounds, kBefore), (Budgets{GiB(30), Bytes(0)}));
}

TEST(LeaseRule, BeforeTheFirstWordNothingOfTheDeviceIsUsed) {
  EXPECT_EQ(BudgetsOf(Standing{}, kBounds, kBefore), (Budgets{Bytes(0), GiB(100)}));
}

TEST(LeaseRule, ALowerCeilingOfTheHostCountsBeforeAWordOfIt) {
  LeaseBounds bounds = kBounds;
  bounds.ceilings.host = GiB(10);
  EXPECT_EQ(BudgetsOf(Standing{}, bounds, kBefore).host, GiB(10));
  Standing s = Told(GiB(1), Bytes(0));
  s.told_host = false;
  EXPECT_EQ(BudgetsOf(s, bounds, kBefore), (Budgets{GiB(1), GiB(10)}));
}

TEST(LeaseRule, NoGrantExceedsLimitsAndCeilings) {
  Standing s;
  EXPECT_EQ(MostOf(s, kBounds), kBounds.ceilings) << "it was told of no limits";
  s.device_limit = GiB(30);
  s.host_limit = GiB(300);
  EXPECT_EQ(MostOf(s, kBounds), (Budgets{GiB(30), GiB(200)}));
  EXPECT_EQ(WantWithin(GiB(50), GiB(30), GiB(10)), GiB(20));
  EXPECT_EQ(WantWithin(GiB(5), GiB(30), GiB(10)), GiB(5));
  EXPECT_EQ(WantWithin(GiB(5), GiB(30), GiB(40)), Bytes(0));
}

TEST(LeaseRule, WhereTheBrokerWentAwayBeforeThatItIsAsWithoutOne) {
  Standing s;
  s.absent = true;
  EXPECT_EQ(BudgetsOf(s, kBounds, kBefore), kBounds.alone);
}

TEST(LeaseRule, ABrokerThatIsGoneLeavesTheLastGrants) {
  Standing s = Told(GiB(40), GiB(50));
  s.state = Session::State::kApart;
  EXPECT_EQ(BudgetsOf(s, kBounds, kBefore), (Budgets{GiB(40), GiB(50)}));
}

TEST(LeaseRule, WhoIsNotAdoptedKeepsHostMemoryToEvictTo) {
  Standing s = Told(Bytes(0), Bytes(0));
  s.state = Session::State::kBarred;
  s.told_host = false;
  EXPECT_EQ(BudgetsOf(s, kBounds, kBefore), (Budgets{Bytes(0), GiB(100)}));
}

TEST(LeaseRule, ChunksAreChosenForAShare) { EXPECT_EQ(ExpectedShare(GiB(80)), GiB(10)); }

TEST(LeaseRule, RoomIsNoMoreThanAPartOfASmallDevice) {
  EXPECT_EQ(RoomForContext(GiB(80)), MiB(544));
  EXPECT_EQ(RoomForContext(MiB(256)), MiB(16));
}

}  // namespace
}  // namespace vramspan
