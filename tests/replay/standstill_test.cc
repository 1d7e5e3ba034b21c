// A replay that stands still ends with words, and one that does not goes on.
#include "tools/replay/standstill.h"

#include <gmock/gmock.h>

namespace vramspan::replay {
namespace {

using testing::HasSubstr;

constexpr uint64_t kSecond = 1'000'000'000;

TEST(StandstillTest, WhatHasNothingToGoToIsTold) {
  Standstill standstill;
  EXPECT_TRUE(standstill.Step(0, kSecond, true).ok());
  const Status status = standstill.Step(kSecond, kNever, true);
  EXPECT_TRUE(absl::IsInternal(status));
  EXPECT_THAT(status.message(), HasSubstr("stands still 1000 ms from its begin"));
  EXPECT_THAT(status.message(), HasSubstr("every program waits"));
}

TEST(StandstillTest, ManyStepsAtOneMomentAreToldAndFewAreNot) {
  Standstill standstill;
  for (int moment = 0; moment < 3; ++moment) {
    const uint64_t now = kSecond * moment;
    for (uint64_t i = 1; i < Standstill::kMostStill; ++i) {
      ASSERT_TRUE(standstill.Step(now, now, true).ok());
    }
    ASSERT_TRUE(standstill.Step(now, now + kSecond, true).ok());
  }
  Status status;
  for (uint64_t i = 0; i < Standstill::kMostStill && status.ok(); ++i) {
    status = standstill.Step(7 * kSecond, 7 * kSecond, true);
  }
  EXPECT_THAT(status.message(), HasSubstr("no time passes"));
}

TEST(StandstillTest, AnHourWithoutAProgramThatDoesAnythingIsTold) {
  Standstill standstill;
  uint64_t now = 0;
  // A broker that looks round is no sign of life.
  for (; now < Standstill::kLongest; now += kSecond) {
    ASSERT_TRUE(standstill.Step(now, now + kSecond, now == 10 * kSecond).ok());
  }
  Status status;
  for (; status.ok() && now < 2 * Standstill::kLongest; now += kSecond) {
    status = standstill.Step(now, now + kSecond, false);
  }
  EXPECT_THAT(status.message(), HasSubstr("done anything for an hour"));
  EXPECT_NEAR(static_cast<double>(now), static_cast<double>(Standstill::kLongest + 12 * kSecond),
              static_cast<double>(2 * kSecond));
}

}  // namespace
}  // namespace vramspan::replay
