// Which budgets follow from what a broker has said.
#include "runtime/lease/lease_rule.h"

#include <gtest/gtest.h>

#include "runtime/lease/said_wants.h"

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

constexpr Budgets kMost = {GiB(80), GiB(200)}, kNow = {GiB(40), GiB(100)};

TEST(LeaseRule, WhatLiesOnTheHostIsWantedOnTheDevice) {
  HeldMemory held = {.device_used = GiB(30),
                     .device_cached = GiB(1),
                     .device_budget = GiB(40),
                     .host_used = GiB(20),
                     .host_budget = GiB(100),
                     .allocated = GiB(45)};
  EXPECT_EQ(PageOf(held, kMost, kNow).wanted_device, Bytes(0)) << "all of it is reserved alone";
  held.on_host = true;
  const lease::ProcessPage page = PageOf(held, kMost, kNow);
  EXPECT_EQ(page.wanted_device, GiB(15)) << "the rest of the host's are copies";
  EXPECT_EQ(page.used_device, GiB(31));
  EXPECT_EQ(page.cached, GiB(1));
  held.needed = GiB(60);
  EXPECT_EQ(PageOf(held, kMost, kNow).wanted_device, GiB(40)) << "no more than is allowed";
}

TEST(LeaseRule, WhatIsToLeaveWantsTheHostMemoryThatItLacks) {
  const HeldMemory held = {.device_used = GiB(40),
                           .device_budget = GiB(30),
                           .host_used = GiB(94),
                           .host_budget = GiB(100),
                           .allocated = GiB(120),
                           .on_host = true};
  EXPECT_EQ(PageOf(held, kMost, kNow).wanted_host, GiB(4) + kRoomToMove);
}

TEST(PageOf, RoomToMoveIsWantedWhileDataLiveOnTheHost) {
  HeldMemory held{.device_used = GiB(4),
                  .device_budget = GiB(4),
                  .host_used = GiB(2),
                  .host_budget = GiB(2),
                  .allocated = GiB(6)};
  const Budgets most = {GiB(80), GiB(80)}, budgets = {GiB(4), GiB(2)};
  EXPECT_EQ(PageOf(held, most, budgets).wanted_host, Bytes(0));
  held.on_host = true;
  EXPECT_EQ(PageOf(held, most, budgets).wanted_host, kRoomToMove);
  held.host_budget = GiB(3);
  EXPECT_EQ(PageOf(held, most, {GiB(4), GiB(3)}).wanted_host, Bytes(0));
  // No more than it may have.
  held.host_budget = GiB(2);
  EXPECT_EQ(PageOf(held, {GiB(80), GiB(2)}, budgets).wanted_host, Bytes(0));
}

TEST(LeaseRule, WhatItsWorkDoesIsOnThePage) {
  using lease::ProcessPage;
  ProcessPage page;
  SayWork({.works = 7, .stalled = 9, .may_hold = true}, &page);
  EXPECT_EQ(page.works, 7u);
  EXPECT_EQ(page.stalled, 9u);
  EXPECT_EQ(page.flags, ProcessPage::kHolds);
  SayWork({.runs = true}, &page);
  EXPECT_EQ(page.flags, ProcessPage::kRuns);
  SayWork({.may_hold = true, .waits = true}, &page);
  EXPECT_EQ(page.flags, ProcessPage::kHolds | ProcessPage::kWaits);
}

TEST(SaidWants, MoreIsSaidAndNotTooOften) {
  lease::SaidWants said;
  const Instant t{std::chrono::seconds(1)};
  EXPECT_FALSE(said.Says({}, t));
  EXPECT_TRUE(said.Says({GiB(1), Bytes(0)}, t));
  EXPECT_FALSE(said.Says({GiB(1), Bytes(0)}, t + std::chrono::seconds(1)));
  EXPECT_TRUE(said.Says({GiB(2), Bytes(0)}, t + std::chrono::seconds(1)));
  EXPECT_FALSE(said.Says({GiB(3), Bytes(0)}, t + std::chrono::seconds(1)));
  EXPECT_FALSE(said.Says({}, t + std::chrono::seconds(2))) << "what is wanted no longer";
  EXPECT_TRUE(said.Says({GiB(2), Bytes(0)}, t + std::chrono::seconds(3)));
}

}  // namespace
}  // namespace vramspan
