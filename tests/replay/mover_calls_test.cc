// The mover's thread by itself: how long calls on mappings take for what runs beside them.
#include "tools/replay/mover_calls.h"

#include <gtest/gtest.h>

namespace vramspan::replay {
namespace {

constexpr int kLog2 = 24;

double MapOnHost(const LinkCrowd& others, bool running = false) {
  MoverCalls calls{ReplayPrices{}};
  calls.SetCrowd(others);
  calls.BeginMapOnHost({.kind = Action::Kind::kMapOnHost}, /*now=*/0, kLog2, running);
  return static_cast<double>(calls.NextEvent());
}

TEST(MoverCalls, TakeLongerBesideOtherProgramsCopies) {
  const double alone = MapOnHost({});
  const double more = ReplayPrices{}.beside_others;
  ASSERT_GT(more, 0);
  EXPECT_NEAR(MapOnHost({.in = 1}), alone * (1 + more), 4);
  EXPECT_NEAR(MapOnHost({.out = 3}), alone * (1 + more), 4) << "however many they are";
  // As it was measured.
  EXPECT_NEAR(MapOnHost({.in = 1, .out = 1}), alone * 327 / 153, 4);
  EXPECT_NEAR(MapOnHost({.in = 1}, /*running=*/true), MapOnHost({}, /*running=*/true) * (1 + more),
              4);
}

}  // namespace
}  // namespace vramspan::replay
