// The bus by itself: both ways at their rates, and what goes out piece by piece.
#include "tools/replay/simulated_link.h"

#include <gmock/gmock.h>

#include "runtime/placement/move_limits.h"

namespace vramspan::replay {
namespace {

using ::testing::ElementsAre;

constexpr bool kIn = true, kOut = false;

double Nanoseconds(Bytes size, double gb_per_s) {
  return static_cast<double>(size.value) / gb_per_s;
}

class SimulatedLinkTest : public testing::Test {
 protected:
  // From now on, until it ends.
  uint64_t Next() {
    const uint64_t begin = now_;
    now_ = link_.NextEnd();
    link_.Advance(now_);
    return now_ - begin;
  }

  const ReplayPrices prices_{};
  SimulatedLink link_{prices_};
  uint64_t now_ = 0;
};

TEST_F(SimulatedLinkTest, ACopyInBeginsAndRunsAtItsRate) {
  link_.Start(kIn, MiB(64), 7);
  EXPECT_NEAR(static_cast<double>(Next()),
              1e3 * prices_.copy_start + Nanoseconds(MiB(64), prices_.copy_in), 2);
  EXPECT_THAT(link_.TakeDone(), ElementsAre(7));
  EXPECT_FALSE(link_.busy());
}

TEST_F(SimulatedLinkTest, ACopyOutPausesBeforeEachPiece) {
  link_.Start(kOut, kOutPiece * 2, 7);
  const double piece = Nanoseconds(kOutPiece, prices_.copy_out) + 1e3 * prices_.piece_start;
  EXPECT_NEAR(static_cast<double>(Next()), 2 * piece, 2);
}

// What waits for a piece waits for less, and the copy takes longer.
TEST_F(SimulatedLinkTest, PiecesAreSmallerBesideCopiesIn) {
  link_.Start(kOut, kOutPiece, 1);
  const double rate = prices_.copy_both / 2;
  const double alone = Nanoseconds(kOutPiece, prices_.copy_out) + 1e3 * prices_.piece_start;
  link_.Advance(1);
  EXPECT_NEAR(static_cast<double>(link_.PieceEnd()), alone, 2);
  link_.Start(kIn, MiB(512), 2);
  EXPECT_LE(static_cast<double>(link_.PieceEnd()),
            Nanoseconds(kOutPieceBesideIn, rate) + 1e3 * prices_.piece_start + 2);
  const double pieces = static_cast<double>(kOutPiece.value) / kOutPieceBesideIn.value;
  EXPECT_NEAR(static_cast<double>(Next()),
              Nanoseconds(kOutPiece, rate) + pieces * 1e3 * prices_.piece_start, 2);
  EXPECT_THAT(link_.TakeDone(), ElementsAre(1));
}

// Of what goes one way each gets the same, whoever's it is; and both ways share the bus.
TEST_F(SimulatedLinkTest, OthersThatCopyTheSameWayTakeTheirPart) {
  link_.SetCrowd({.in = 1});
  link_.Start(kIn, MiB(64), 1);
  const double alone = 1e3 * prices_.copy_start + Nanoseconds(MiB(64), prices_.copy_in);
  EXPECT_NEAR(static_cast<double>(Next()), 2 * alone, 4);
  link_.SetCrowd({.out = 3});
  link_.Start(kIn, MiB(64), 2);
  const double beside = prices_.copy_both / (prices_.copy_in + prices_.copy_out);
  EXPECT_NEAR(static_cast<double>(Next()), alone / beside, 4);
}

}  // namespace
}  // namespace vramspan::replay
