#include "runtime/placement/planner.h"

#include <gmock/gmock.h>

#include "tests/placement/world.h"

namespace vramspan {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

auto Are(std::initializer_list<uint32_t> ids) { return ElementsAreArray(Listed(ids)); }

TEST(Planner, AnEmptyQueueNeedsNothing) {
  World w;
  w.Device(1);
  const Plan plan = w.Make();
  EXPECT_THAT(plan.evict, IsEmpty());
  EXPECT_THAT(plan.fetch, IsEmpty());
  EXPECT_THAT(plan.in_place, IsEmpty());
  EXPECT_FALSE(plan.wait);
}

TEST(Planner, FillsFreeRoomInTheOrderOfNeed) {
  World w;
  for (uint32_t id = 1; id <= 5; ++id) w.Host(id);
  w.Queue(Listed({3, 1}));
  w.Queue(Listed({1, 5}));
  w.Queue(Listed({2, 4}));
  w.request.room = MiB(2 * 4);
  const Plan plan = w.Make();
  EXPECT_THAT(plan.fetch, Are({3, 1, 5, 2}));
  EXPECT_THAT(plan.evict, IsEmpty());
  EXPECT_FALSE(plan.wait);
}

TEST(Planner, EvictsWhatTheQueueDoesNotNameFirstInThePolicysOrder) {
  World w;
  for (uint32_t id = 1; id <= 5; ++id) w.Device(id);
  w.policy().OnUse(ChunkIndex(2));
  w.Host(6);
  w.Host(7);
  w.Host(8);
  w.Queue(Listed({6, 7, 8}));
  w.Queue(Listed({1}));
  w.Queue(Listed({5}));
  EXPECT_THAT(w.Make().evict, Are({3, 4, 2}));
}

TEST(Planner, ThenWhatTheQueueNeedsLast) {
  World w;
  for (uint32_t id = 1; id <= 4; ++id) w.Device(id);
  w.Host(6);
  w.Host(7);
  w.Queue(Listed({1, 6, 7}));
  w.Queue(Listed({2}));
  w.Queue(Listed({4}));
  w.Queue(Listed({3, 2}));
  EXPECT_THAT(w.Make().evict, Are({3, 4}));
}

TEST(Planner, TheWorksOwnChunksStay) {
  World w;
  w.Device(1);
  w.Host(2);
  w.Host(3);
  w.Queue(Listed({1, 2}));
  const Plan plan = w.Make();
  EXPECT_THAT(plan.evict, IsEmpty());
  EXPECT_THAT(plan.fetch, IsEmpty());
  EXPECT_THAT(plan.in_place, ElementsAre(0));
  EXPECT_FALSE(plan.wait);
}

TEST(Planner, WhatIsNeededSoonerIsNotEvictedForWhatIsNeededLater) {
  World w;
  w.Device(1);
  w.Device(2);
  w.Host(3);
  w.Queue(Listed({1}));
  w.Queue(Listed({2}));
  w.Queue(Listed({3}));
  const Plan plan = w.Make();
  EXPECT_THAT(plan.evict, IsEmpty());
  EXPECT_THAT(plan.fetch, IsEmpty());
  EXPECT_THAT(plan.in_place, IsEmpty());
}

TEST(Planner, WaitsWhereABusyChunkCouldMakeRoom) {
  World w;
  w.Device(1).busy = true;
  w.Host(2);
  w.Queue(Listed({2}));
  Plan plan = w.Make();
  EXPECT_TRUE(plan.wait);
  EXPECT_THAT(plan.in_place, IsEmpty());
  EXPECT_THAT(plan.evict, IsEmpty());

  w.Device(1).movable = false;
  plan = w.Make();
  EXPECT_FALSE(plan.wait);
  EXPECT_THAT(plan.in_place, ElementsAre(0));
}

TEST(Planner, WaitsForABusyChunkThatTheQueueNeedsLater) {
  World w;
  w.Device(1).busy = true;
  w.Host(2);
  w.Queue(Listed({2}));
  w.Queue(Listed({1}));
  EXPECT_TRUE(w.Make().wait);
}

TEST(Planner, TheHeadsOwnBusyChunksPromiseNoRoom) {
  World w;
  w.Device(1).busy = true;
  w.Host(2);
  w.Queue(Listed({1, 2}));
  EXPECT_THAT(w.Make().in_place, ElementsAre(0));
}

TEST(Planner, AHostChunkInUseIsFetchedLater) {
  World w;
  w.Host(1).busy = true;
  w.Queue(Listed({1}));
  w.request.room = MiB(2);
  const Plan plan = w.Make();
  EXPECT_THAT(plan.fetch, IsEmpty());
  EXPECT_TRUE(plan.wait);
}

TEST(Planner, AHostChunkInUseIsNotWaitedForWhereNoRoomWillBe) {
  // The same oversized work again and again: nothing changes when the last run of it ends.
  World w;
  w.Device(1).busy = true;
  w.Host(2).busy = true;
  w.Queue(Listed({1, 2}));
  EXPECT_THAT(w.Make().in_place, ElementsAre(0));
  w.Queue(Listed({1, 2}));
  w.request.released = 1;
  EXPECT_THAT(w.Make().in_place, ElementsAre(1));
}

TEST(Planner, RoomThatIsComingIsUsedBeforeMoreIsEvicted) {
  World w;
  w.Device(1);
  w.Host(2);
  w.Host(3);
  w.Queue(Listed({2, 3}));
  w.request.room_coming = MiB(2);
  const Plan plan = w.Make();
  EXPECT_THAT(plan.fetch, Are({2, 3}));
  EXPECT_THAT(plan.evict, Are({1}));
}

TEST(Planner, ServesInPlaceWhatItIsToldTo) {
  World w;
  w.Host(1).prefer_host = true;
  w.Host(2).movable = false;
  w.Host(3);
  w.Queue(Listed({1, 2, 3}));
  w.request.room = MiB(64);
  const Plan plan = w.Make();
  EXPECT_THAT(plan.fetch, Are({3}));
  EXPECT_FALSE(plan.wait);
  EXPECT_THAT(plan.in_place, IsEmpty());
}

TEST(Planner, ASetLargerThanTheDeviceIsFetchedInPartAndThenLeftAlone) {
  World w;
  for (uint32_t id = 1; id <= 4; ++id) w.Device(id);
  for (uint32_t id = 5; id <= 10; ++id) w.Host(id);
  // 4 is the work's own, 1 to 3 are not: three of the five that it lacks fit.
  w.Queue(Listed({5, 4, 6, 7, 8, 9}));
  Plan plan = w.Make();
  EXPECT_THAT(plan.evict, Are({1, 2, 3}));
  EXPECT_THAT(plan.fetch, Are({5, 6, 7}));
  EXPECT_THAT(plan.in_place, IsEmpty()) << "more is being done";
  EXPECT_FALSE(plan.wait);

  World after;
  for (uint32_t id = 4; id <= 7; ++id) after.Device(id);
  for (uint32_t id = 8; id <= 9; ++id) after.Host(id);
  after.Queue(Listed({5, 4, 6, 7, 8, 9}));
  after.Queue(Listed({5, 4, 6, 7, 8, 9}));
  plan = after.Make();
  EXPECT_THAT(plan.evict, IsEmpty()) << "churns";
  EXPECT_THAT(plan.in_place, ElementsAre(0));
}

TEST(Planner, ASmallerChunkOfTheHeadMayFitWhereALargeOneDoesNot) {
  World w;
  w.Host(1, MiB(64));
  w.Host(2, MiB(2));
  w.Queue(Listed({1, 2}));
  w.request.room = MiB(4);
  EXPECT_THAT(w.Make().fetch, Are({2}));
}

TEST(Planner, LaterWorkDoesNotTakeTheRoomThatTheHeadWaitsFor) {
  World w;
  w.Device(1).busy = true;
  w.Host(2, MiB(4));
  w.Host(3, MiB(2));
  w.Queue(Listed({2}));
  w.Queue(Listed({3}));
  w.request.room = MiB(2);
  w.request.room_coming = MiB(0);
  const Plan plan = w.Make();
  EXPECT_TRUE(plan.wait);
  EXPECT_THAT(plan.fetch, IsEmpty());
}

TEST(Planner, PrefersAVictimThatFits) {
  World w;
  w.Device(1, MiB(64));
  w.Device(2, MiB(16));
  w.Device(3, MiB(2));
  w.Host(4, MiB(2));
  w.Queue(Listed({4}));
  EXPECT_THAT(w.Make().evict, Are({3}));
  w.Queue(Listed({1, 2, 3}));  // All needed by the same work: an equal claim.
  EXPECT_THAT(w.Make().evict, Are({3}));
}

TEST(Planner, GivesBackVictimsThatALargerOneMakesNeedless) {
  World w;
  w.Device(1, MiB(2));
  w.Device(2, MiB(64));
  w.Host(3, MiB(64));
  w.Queue(Listed({3}));
  w.Queue(Listed({2}));
  EXPECT_THAT(w.Make().evict, Are({2})) << "chunk 1 alone is not enough, and 2 is without it";
}

TEST(Planner, EvictsNothingInVain) {
  World w;
  w.Device(1, MiB(2));
  w.Host(3, MiB(64));
  w.Queue(Listed({3}));
  const Plan plan = w.Make();
  EXPECT_THAT(plan.evict, IsEmpty());
  EXPECT_THAT(plan.in_place, ElementsAre(0));
}

TEST(Planner, KeepsToTheNumberOfMovesWanted) {
  World w;
  for (uint32_t id = 1; id <= 20; ++id) w.Device(id);
  for (uint32_t id = 21; id <= 40; ++id) w.Host(id);
  Chunks all;
  for (uint32_t id = 21; id <= 40; ++id) all.push_back(ChunkIndex(id));
  w.Queue(all);
  w.request.max_fetches = 5;
  Plan plan = w.Make();
  EXPECT_EQ(plan.fetch.size(), 5u);
  EXPECT_EQ(plan.evict.size(), 5u);
  EXPECT_TRUE(plan.wait);

  w.request.max_fetches = 100;
  w.request.max_evictions = 3;
  plan = w.Make();
  EXPECT_EQ(plan.fetch.size(), 3u);
  EXPECT_EQ(plan.evict.size(), 3u);
  EXPECT_TRUE(plan.wait);

  w.request.max_fetches = w.request.max_evictions = 0;
  plan = w.Make();
  EXPECT_THAT(plan.fetch, IsEmpty());
  EXPECT_TRUE(plan.wait) << "what is not wanted at present can be done later";
}

// A device that is half empty while a chunk leaves for each that comes, and the link has no place
// for more.
TEST(Planner, ChunksLeaveForFetchesThatCanStart) {
  World w;
  for (uint32_t id = 1; id <= 4; ++id) w.Device(id);
  for (uint32_t id = 5; id <= 12; ++id) w.Host(id);
  w.Queue(Listed({5, 6}));
  w.Queue(Listed({7, 8, 9, 10, 11, 12}));
  w.request.per_byte = 1;  // A long way: all of it is due.
  w.request.room = MiB(2 * 3);
  w.request.startable = MiB(2 * 2);
  Plan plan = w.Make();
  EXPECT_THAT(plan.fetch, Are({5, 6, 7})) << "there is room for three, and two can start";
  EXPECT_THAT(plan.evict, IsEmpty());

  w.request.startable = MiB(2 * 5);
  plan = w.Make();
  EXPECT_THAT(plan.fetch, Are({5, 6, 7, 8, 9}));
  EXPECT_THAT(plan.evict, Are({1, 2}));

  w.request.startable = MiB(2 * 2);
  w.request.room = MiB(2);
  w.request.room_coming = MiB(2 * 2);
  plan = w.Make();
  EXPECT_THAT(plan.fetch, Are({5, 6, 7, 8})) << "the second and third wait for the way out";
  EXPECT_THAT(plan.evict, Are({1}));
}

TEST(Planner, TooManySmallVictimsAreWaitedForNotGivenUpOn) {
  World w;
  for (uint32_t id = 1; id <= 64; ++id) w.Device(id, MiB(2));
  w.Host(70, MiB(64));
  w.Queue(Listed({70}));
  w.request.max_evictions = 4;
  const Plan plan = w.Make();
  EXPECT_THAT(plan.in_place, IsEmpty());
  EXPECT_TRUE(plan.wait);
  EXPECT_THAT(plan.evict, Are({1, 2, 3, 4})) << "a beginning";
  w.request.max_evictions = 32;
  EXPECT_THAT(w.Make().fetch, Are({70}));
}

TEST(Planner, LooksNoFurtherThanTheHorizon) {
  World w;
  for (uint32_t id = 1; id <= 6; ++id) w.Host(id);
  for (uint32_t id = 1; id <= 6; ++id) w.Queue(Listed({id}));
  w.request.room = MiB(64);
  w.request.horizon = MiB(4);
  EXPECT_THAT(w.Make().fetch, Are({1, 2, 3})) << "the third takes it beyond";
  w.request.horizon = MiB(0);
  EXPECT_THAT(w.Make().fetch, Are({1}));
  w.request.released = 2;
  EXPECT_THAT(w.Make().fetch, Are({3})) << "the head is always seen";
}

TEST(Planner, ReleasedWorkIsNotFetchedFor) {
  World w;
  w.Host(1);
  w.Host(2);
  w.Queue(Listed({1}));
  w.request.room = MiB(64);
  w.request.released = 1;
  EXPECT_THAT(w.Make().fetch, IsEmpty());
  w.Queue(Listed({2}));
  EXPECT_THAT(w.Make().fetch, Are({2}));
}

TEST(Planner, AHeadFarBehindReleasedWorkIsNotFetchedForTooEarly) {
  World w;
  constexpr uint32_t kCycle = 16, kRoom = 12;
  for (uint32_t id = 1; id <= kRoom; ++id) w.Device(id);
  for (uint32_t id = kRoom + 1; id <= kCycle; ++id) w.Host(id);
  // 1 has just run; 2 to 12 are released and running or about to.
  for (uint32_t pass = 0; pass < 2; ++pass) {
    for (uint32_t id = 1; id <= kCycle; ++id) {
      if (pass > 0 || id > 1) w.Queue(Listed({id}));
    }
  }
  for (uint32_t id = 2; id <= kRoom; ++id) w.Device(id).busy = true;
  w.request.released = kRoom - 1;
  Plan plan = w.Make();
  EXPECT_THAT(plan.evict, IsEmpty());
  EXPECT_TRUE(plan.wait) << "there is time";

  World hidden;
  for (uint32_t id = 1; id <= kRoom; ++id) hidden.Device(id).busy = id > 1;
  for (uint32_t id = kRoom + 1; id <= kCycle; ++id) hidden.Host(id);
  for (size_t i = kRoom - 1; i < w.works().size(); ++i) hidden.Queue(w.works()[i]);
  plan = hidden.Make();
  EXPECT_THAT(plan.evict, Are({1})) << "nothing is known to run before it";
  EXPECT_THAT(plan.fetch, Are({13}));
}

TEST(Planner, LongWorkGivesTime) {
  World w;
  w.Device(1);
  w.Device(2);
  w.Host(3);
  w.Host(4);
  w.Queue(Listed({2}), 100);
  w.Queue(Listed({3}), 1);
  w.Queue(Listed({4}), 1);
  for (int i = 0; i < 20; ++i) w.Queue(Listed({2}), 1);
  w.Queue(Listed({1}), 1);
  EXPECT_THAT(w.Make().fetch, IsEmpty()) << "not due within the first tenth of the way";
  World quick;
  quick.Device(1);
  quick.Device(2);
  quick.Host(3);
  quick.Host(4);
  quick.Queue(Listed({2}), 1);
  quick.Queue(Listed({3}), 1);
  quick.Queue(Listed({4}), 1);
  for (int i = 0; i < 20; ++i) quick.Queue(Listed({2}), 1);
  quick.Queue(Listed({1}), 1);
  EXPECT_THAT(quick.Make().fetch, Are({3}));
  EXPECT_THAT(quick.Make().evict, Are({1}));
}

// What nobody in sight needs goes in time for what must come; what the queue needs goes evenly.
TEST(Planner, WhatTakesLongToComeIsFetchedEarly) {
  const auto fetched = [](double work_times, bool victim_is_named) {
    World w;
    w.Device(1);
    w.Device(2);
    w.Host(3);
    for (int i = 0; i < 60; ++i) w.Queue(Listed({2}), 10);
    w.Queue(Listed({3}), 10);
    for (int i = 0; i < 20; ++i) w.Queue(Listed({2}), 10);
    if (victim_is_named) w.Queue(Listed({1}), 10);
    w.request.per_byte = work_times * 10 / static_cast<double>(MiB(2).value);
    return !w.Make().fetch.empty();
  };
  EXPECT_FALSE(fetched(0, false)) << "not due by its share of the way";
  EXPECT_FALSE(fetched(59, false));
  EXPECT_TRUE(fetched(61, false));
  EXPECT_FALSE(fetched(61, true));
}

// What running work uses is no load for the link.
TEST(Planner, OnlyWhatComesIsOnTheWay) {
  const auto fetched = [](bool incoming) {
    World w;
    w.Device(1);
    w.Host(2);
    ChunkView& busy = w.Device(3, MiB(64));
    busy.busy = true;
    busy.incoming = incoming;
    for (int i = 0; i < 4; ++i) w.Queue(Listed({4}));
    w.Queue(Listed({2}));
    w.Queue(Listed({3}));
    for (int i = 0; i < 4; ++i) w.Queue(Listed({4}));
    w.Queue(Listed({1}));
    w.request.ahead = MiB(2);
    return !w.Make().fetch.empty();
  };
  EXPECT_TRUE(fetched(false));
  EXPECT_FALSE(fetched(true)) << "each byte has less of the way to itself";
}

TEST(Planner, MustFreeNeedsNoQueue) {
  World w;
  for (uint32_t id = 1; id <= 4; ++id) w.Device(id);
  w.Device(2).busy = true;
  w.request.must_free = MiB(4);
  const Plan plan = w.Make();
  EXPECT_THAT(plan.evict, Are({1, 3}));
  EXPECT_THAT(plan.fetch, IsEmpty());
}

TEST(Planner, MustFreeTakesTheLeastNeededAndTheHeadsLast) {
  World w;
  for (uint32_t id = 1; id <= 4; ++id) w.Device(id);
  w.Queue(Listed({1}));
  w.Queue(Listed({3}));
  w.Queue(Listed({2}));
  w.request.must_free = MiB(6);
  EXPECT_THAT(w.Make().evict, Are({4, 2, 3}));
  w.request.must_free = MiB(64);
  EXPECT_THAT(w.Make().evict, Are({4, 2, 3, 1})) << "as much as there is";
}

TEST(Planner, MustFreeComesBesideWhatFetchesNeed) {
  World w;
  for (uint32_t id = 1; id <= 4; ++id) w.Device(id);
  w.Host(5);
  w.Queue(Listed({5}));
  w.request.must_free = MiB(2);
  const Plan plan = w.Make();
  EXPECT_THAT(plan.evict, Are({1, 2}));
  EXPECT_THAT(plan.fetch, Are({5}));
}

TEST(Planner, WhatMustFreeLeavesOverIsRoom) {
  World w;
  w.Device(1, MiB(64));
  w.Host(2, MiB(16));
  w.Queue(Listed({2}));
  w.request.must_free = MiB(2);
  const Plan plan = w.Make();
  EXPECT_THAT(plan.evict, Are({1}));
  EXPECT_THAT(plan.fetch, Are({2}));
}

// A chunk that the program would rather have on the host.
ChunkView& Unclaimed(World& w, ChunkView& view, uint32_t id) {
  view.prefer_host = true;
  view.claim = Claim::kNone;
  w.policy().Advise(ChunkIndex(id), true, view.on_device);
  return view;
}

TEST(Planner, WhatHoldsNothingLeavesBeforeWhatIsNeededLast) {
  World w;
  for (uint32_t id = 1; id <= 4; ++id) w.Device(id);
  w.Host(6);
  w.Queue(Listed({6}));
  w.Queue(Listed({2}));
  w.Queue(Listed({1, 4}));
  w.Queue(Listed({3}));
  EXPECT_THAT(w.Make().evict, Are({3}));
  w.At(ChunkIndex(2)).empty = true;
  EXPECT_THAT(w.Make().evict, Are({2}));
  w.At(ChunkIndex(4)).empty = true;
  EXPECT_THAT(w.Make().evict, Are({4})) << "of two the one that is needed last";
  // What nobody needs may hold something.
  w.Device(5);
  EXPECT_THAT(w.Make().evict, Are({4}));
  w.At(ChunkIndex(5)).empty = true;
  EXPECT_THAT(w.Make().evict, Are({5}));
}

TEST(Planner, WhatHoldsNothingStaysWhereItIsNeededTooSoon) {
  World w;
  w.Device(1).empty = true;
  w.Device(2);
  w.Host(3);
  w.Queue(Listed({3}), 2'000'000);
  w.Queue(Listed({1}), 10);
  w.Queue(Listed({2}), 10);
  // Besides the two remaps, of half a millisecond each.
  w.request.per_byte = (1e6 - 1) / MiB(2).value;
  EXPECT_THAT(w.Make().evict, Are({1}));
  w.request.per_byte = (1e6 + 1) / MiB(2).value;
  EXPECT_THAT(w.Make().evict, Are({2}));
  // For a budget that was lowered all leave.
  w.request.must_free = MiB(2);
  EXPECT_THAT(w.Make().evict, ElementsAre(ChunkIndex(1), ChunkIndex(2)));
}

TEST(Planner, OfWhatHoldsNothingTheOneThatFitsLeaves) {
  World w;
  w.Device(1).empty = true;
  w.Device(2, MiB(64)).empty = true;
  w.Host(3);
  w.Queue(Listed({3}), 10'000'000);
  w.Queue(Listed({1}), 10);
  w.Queue(Listed({2}), 10);
  EXPECT_THAT(w.Make().evict, Are({1}));
  // One that is needed too soon for its size hides no other.
  w.request.per_byte = 8'000'000.0 / MiB(2).value;
  EXPECT_THAT(w.Make().evict, Are({1}));
}

TEST(Planner, ForALoweredBudgetWhatNobodyNamesLeavesBeforeAnEmptyChunkOfTheHead) {
  World w;
  w.Device(1).empty = true;
  w.Device(2);
  w.Queue(Listed({1}));
  w.request.must_free = MiB(2);
  EXPECT_THAT(w.Make().evict, Are({2}));
}

TEST(Planner, WhatHoldsNothingLeavesEarly) {
  const auto fetched = [](bool empty) {
    World w;
    w.Device(1).empty = empty;
    w.Device(2);
    w.Host(3);
    w.Host(4);
    for (int i = 0; i < 60; ++i) w.Queue(Listed({2}), 1'000'000);
    w.Queue(Listed({3, 4}), 1'000'000);
    for (int i = 0; i < 34; ++i) w.Queue(Listed({2}), 1'000'000);
    w.Queue(Listed({1}), 1'000'000);
    w.request.per_byte = 61.0 * 1e6 / static_cast<double>(MiB(4).value);
    return !w.Make().fetch.empty();
  };
  EXPECT_FALSE(fetched(false));
  EXPECT_TRUE(fetched(true));
}

TEST(Planner, WhatHasNoClaimLeavesFirst) {
  World w;
  for (uint32_t id = 1; id <= 4; ++id) w.Device(id);
  Unclaimed(w, w.Device(5), 5);
  w.Host(6);
  w.Host(7);
  w.Queue(Listed({6, 7}));
  const Plan plan = w.Make();
  EXPECT_THAT(plan.fetch, Are({6, 7}));
  EXPECT_THAT(plan.evict, Are({5, 1})) << "though it came last";
}

TEST(Planner, WhatHasNoClaimIsFoundBehindAnyNumberOfOthers) {
  for (const std::string_view policy : PolicyNames()) {
    World w(policy);
    for (uint32_t id = 1; id <= 1000; ++id) w.Device(id);
    Unclaimed(w, w.At(ChunkIndex(777)), 777);
    w.Host(1001);
    w.Queue(Listed({1001}));
    EXPECT_THAT(w.Make().evict, Are({777})) << policy;
  }
}

TEST(Planner, WhatHasNoClaimLeavesEvenForWorkThatNamesIt) {
  World w;
  w.Device(1);
  Unclaimed(w, w.Device(2), 2);
  Unclaimed(w, w.Device(3), 3);
  w.Host(4);
  w.Queue(Listed({4, 2}));
  w.Queue(Listed({3, 1}));
  const Plan plan = w.Make();
  EXPECT_THAT(plan.fetch, Are({4}));
  EXPECT_THAT(plan.evict, Are({3})) << "needed last";
  w.At(ChunkIndex(3)).busy = true;
  EXPECT_THAT(w.Make().evict, Are({2}));
  w.At(ChunkIndex(2)).busy = true;
  EXPECT_THAT(w.Make().evict, Are({1}));
}

TEST(Planner, WhatHasNoClaimIsWaitedForWhileItIsInUse) {
  World w;
  Unclaimed(w, w.Device(1), 1).busy = true;
  w.Host(2);
  w.Queue(Listed({1, 2}));
  const Plan plan = w.Make();
  EXPECT_THAT(plan.evict, IsEmpty());
  EXPECT_TRUE(plan.wait);
}

TEST(Planner, WhatHasNoClaimIsNotFetched) {
  World w;
  Unclaimed(w, w.Host(1), 1);
  w.Queue(Listed({1}));
  w.request.room = MiB(64);
  const Plan plan = w.Make();
  EXPECT_THAT(plan.fetch, IsEmpty());
  EXPECT_FALSE(plan.wait);
}

TEST(Planner, ARequestIsMoreThanAdvice) {
  World w;
  Unclaimed(w, w.Device(1), 1);
  Unclaimed(w, w.Host(2), 2);
  w.Host(3).prefer_host = true;
  w.Device(4);
  w.Queue(Listed({1, 2, 3}));
  w.request.released = 1;
  w.Queue(Listed({2, 1, 3}), 1, /*explicit_request=*/true);
  w.request.room = MiB(2);
  const Plan plan = w.Make();
  EXPECT_THAT(plan.fetch, Are({2, 3}));
  EXPECT_THAT(plan.evict, Are({4})) << "1 is asked for too";
}

TEST(Planner, WhatIsToBeKeptLeavesForNoFetch) {
  World w;
  w.Device(1).claim = Claim::kKeep;
  w.Device(2);
  w.Device(3).claim = Claim::kKeep;
  w.Host(4, MiB(4));
  w.Queue(Listed({4}));
  w.Queue(Listed({3}));
  const Plan plan = w.Make();
  EXPECT_THAT(plan.evict, IsEmpty());
  EXPECT_THAT(plan.in_place, ElementsAre(0u));
}

TEST(Planner, WhatIsToBeKeptIsFetchedWhenWorkNeedsIt) {
  World w;
  w.Device(1);
  w.Host(2).claim = Claim::kKeep;
  w.Queue(Listed({2}));
  const Plan plan = w.Make();
  EXPECT_THAT(plan.fetch, Are({2}));
  EXPECT_THAT(plan.evict, Are({1}));
}

TEST(Planner, WhatIsToBeKeptLeavesLastWhereTheBudgetIsLowered) {
  World w;
  w.Device(1).claim = Claim::kKeep;
  for (uint32_t id = 2; id <= 4; ++id) w.Device(id);
  Unclaimed(w, w.Device(5), 5);
  w.Device(6).claim = Claim::kKeep;
  w.Queue(Listed({3}));
  w.Queue(Listed({6}));
  w.request.must_free = MiB(8);
  EXPECT_THAT(w.Make().evict, Are({5, 2, 4, 3}));
  w.request.must_free = MiB(10);
  EXPECT_THAT(w.Make().evict, Are({5, 2, 4, 3, 1}));
  w.request.must_free = MiB(64);
  EXPECT_THAT(w.Make().evict, Are({5, 2, 4, 3, 1, 6}));
}

TEST(Planner, ManyPlansLeaveNoTrace) {
  World w;
  for (uint32_t id = 1; id <= 4; ++id) w.Device(id);
  for (uint32_t id = 5; id <= 8; ++id) w.Host(id);
  w.Queue(Listed({1, 5}));
  w.Queue(Listed({2, 6}));
  w.Queue(Listed({3, 7}));
  const Plan first = w.Make();
  for (int i = 0; i < 100; ++i) {
    const Plan again = w.Make();
    ASSERT_EQ(again.evict, first.evict);
    ASSERT_EQ(again.fetch, first.fetch);
  }
}

}  // namespace
}  // namespace vramspan
