// When waiting ends, in plain numbers of time.
#include "runtime/scheduler/patience.h"

#include <gtest/gtest.h>

namespace vramspan {
namespace {

using std::chrono::milliseconds;

constexpr uint64_t kHead = 7;

Instant AtMs(int64_t ms) { return Instant(milliseconds(ms)); }

class PatienceTest : public ::testing::Test {
 protected:
  PatienceTest() { patience_.HeadIs(kHead, AtMs(0)); }

  size_t InPlace(int64_t ms) {
    const size_t n = patience_.Check(at_, AtMs(ms)).in_place;
    if (n != 0) patience_.RunsInPlace(AtMs(ms));
    return n;
  }
  // A piece of work ends that took `ms`.
  void Ran(uint64_t work, int64_t released, int64_t ended) {
    patience_.Ended(work, AtMs(released), AtMs(ended));
    patience_.Looked(/*in_flight=*/true, AtMs(ended));
  }

  Patience patience_{milliseconds(20)};
  Patience::Situation at_{.queued = 1000};
};

TEST_F(PatienceTest, EndsAfterTheDeadlineWithoutProgress) {
  EXPECT_EQ(InPlace(19), 0u);
  EXPECT_EQ(InPlace(20), 1u);
}

TEST_F(PatienceTest, CountsFromTheLastProgressAndFromTheHeadsTurn) {
  patience_.Progressed(AtMs(15));
  EXPECT_EQ(InPlace(34), 0u);
  patience_.HeadIs(kHead + 1, AtMs(35));
  EXPECT_EQ(InPlace(54), 0u);
  patience_.HeadIs(kHead + 1, AtMs(50));  // The same: nothing new.
  EXPECT_EQ(InPlace(55), 1u);
}

TEST_F(PatienceTest, WaitsWhileAnythingMoves) {
  at_.moving = true;
  EXPECT_EQ(InPlace(150), 0u);
  at_.moving = false;
  EXPECT_EQ(InPlace(150), 1u);
}

TEST_F(PatienceTest, ReleasesEverMoreUntilEarlierWorkEnds) {
  EXPECT_EQ(InPlace(20), 1u);
  EXPECT_EQ(InPlace(39), 0u) << "as long a wait again";
  EXPECT_EQ(InPlace(40), 16u);
  EXPECT_EQ(InPlace(60), 256u);
  Ran(kHead + 3, 21, 64);  // Released by the first verdict.
  EXPECT_EQ(InPlace(80), 4096u);
  Ran(kHead - 1, 0, 85);
  EXPECT_EQ(InPlace(100), 1u);
}

TEST_F(PatienceTest, StartsAnewWhenNothingRuns) {
  EXPECT_EQ(InPlace(21), 1u);
  patience_.Looked(/*in_flight=*/false, AtMs(22));
  EXPECT_EQ(InPlace(42), 1u);
}

TEST_F(PatienceTest, IsTwiceTheLongestRunSeen) {
  Ran(1, 0, 30);
  EXPECT_EQ(InPlace(59), 0u);
  EXPECT_EQ(InPlace(60), 1u);
}

TEST_F(PatienceTest, CountsARunFromItsReleaseOrTheEndBeforeIt) {
  Ran(1, 0, 30);
  Ran(2, 0, 45);       // Behind the first: 15 ms.
  Ran(3, 1000, 1010);  // The program thought in between.
  patience_.HeadIs(kHead + 1, AtMs(2000));
  EXPECT_EQ(InPlace(2059), 0u);
  EXPECT_EQ(InPlace(2060), 1u);
}

TEST_F(PatienceTest, TakesWhatIsKnownOfRunningWork) {
  at_.known = milliseconds(700);
  EXPECT_EQ(InPlace(699), 0u);
  EXPECT_EQ(InPlace(700), 1u);
}

TEST_F(PatienceTest, HasBoundsWhateverWasSeen) {
  Ran(1, 0, 60'000);
  patience_.HeadIs(kHead + 1, AtMs(100'000));
  EXPECT_EQ(InPlace(100'499), 0u);
  EXPECT_EQ(InPlace(100'500), 1u);
  patience_.HeadIs(kHead + 2, AtMs(200'000));
  at_.known = milliseconds(60'000);
  EXPECT_EQ(InPlace(201'999), 0u);
  EXPECT_EQ(InPlace(202'000), 16u) << "nothing had ended between the two";
}

TEST_F(PatienceTest, IsShortWhereAThreadIsBlockedAndThenAllGoes) {
  at_.blocked = true;
  EXPECT_EQ(InPlace(2), 0u);
  EXPECT_EQ(InPlace(3), at_.queued);
}

TEST_F(PatienceTest, LearnsNothingFromWhatWasDisturbed) {
  EXPECT_EQ(InPlace(21), 1u);
  EXPECT_TRUE(patience_.Disturbed(AtMs(40)));
  EXPECT_FALSE(patience_.Disturbed(AtMs(41))) << "that long it is long by itself";
  Ran(kHead - 1, 0, 400);
  patience_.HeadIs(kHead + 1, AtMs(500));
  EXPECT_EQ(InPlace(521), 1u);
}

TEST_F(PatienceTest, AHeadStarvesBesideTheProgressOfOthers) {
  at_.wanted = Bytes(5'000'000);  // 5 ms at the slowest link.
  at_.moving = true;
  for (int64_t ms = 0; ms < 205; ++ms) patience_.Progressed(AtMs(ms));
  EXPECT_EQ(InPlace(205), 0u);
  EXPECT_FALSE(patience_.Starved(kHead));
  EXPECT_EQ(InPlace(206), 1u) << "the head alone";
  EXPECT_TRUE(patience_.Starved(kHead));
  EXPECT_FALSE(patience_.Starved(kHead + 1));
}

TEST_F(PatienceTest, DetachesCopiesThatTakeFarTooLong) {
  at_.moving = true;
  EXPECT_FALSE(patience_.Check(at_, AtMs(200)).detach_copies);
  EXPECT_TRUE(patience_.Check(at_, AtMs(201)).detach_copies);
}

TEST_F(PatienceTest, SaysWhenToLookAgain) {
  EXPECT_EQ(patience_.Due(at_), AtMs(20));
  patience_.Progressed(AtMs(9));
  EXPECT_EQ(patience_.Due(at_), AtMs(29));
  EXPECT_EQ(InPlace(29), 1u) << "then, and not after it: a replay would not go on";
  EXPECT_EQ(patience_.Due(at_), AtMs(49));
  EXPECT_FALSE(patience_.MayBeDue(AtMs(2)));
  EXPECT_TRUE(patience_.MayBeDue(AtMs(3)));
}

}  // namespace
}  // namespace vramspan
