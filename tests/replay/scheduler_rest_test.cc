#include "tools/replay/scheduler_rest.h"

#include <gtest/gtest.h>

namespace vramspan::replay {
namespace {

Instant At(int64_t ns) { return Instant(Duration(ns)); }

TEST(SchedulerRest, HoldsWhileOnlyTimePasses) {
  SchedulerRest rest;
  EXPECT_FALSE(rest.Holds(/*held=*/false, At(5))) << "it was never asked";
  rest.Began(At(5));
  rest.Until(At(9));
  EXPECT_TRUE(rest.Holds(/*held=*/false, At(8)));
  EXPECT_FALSE(rest.Holds(/*held=*/false, At(9))) << "it is due";
  rest.Told();
  EXPECT_FALSE(rest.Holds(/*held=*/false, At(6)));
}

TEST(SchedulerRest, HeldWorkLooksAtTheTime) {
  SchedulerRest rest;
  rest.Began(At(5));
  EXPECT_TRUE(rest.Holds(/*held=*/true, At(5)));
  rest.Until(At(9));
  EXPECT_FALSE(rest.Holds(/*held=*/true, At(6)));
  rest.Until(At(5));
  EXPECT_FALSE(rest.Holds(/*held=*/true, At(5))) << "it is due at once";
}

}  // namespace
}  // namespace vramspan::replay
