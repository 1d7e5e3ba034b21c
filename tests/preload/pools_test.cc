// Stream-ordered memory.
#include <gmock/gmock.h>

#include "tests/preload/run_program.h"

namespace vramspan_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Output PoolsOk(const Output& output) {
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("ok\n")) << output.err;
  return output;
}

TEST(Pools, AnswerAsTheDriversDo) {
  for (const char* scenario : {"pools", "pools_pt"}) {
    const Output without = PoolsOk(RunPlain("dlsym", scenario));
    EXPECT_THAT(without.out, HasSubstr("two: used 10, at most 10; reserved 32\n"));
    EXPECT_THAT(without.out, Not(HasSubstr("do not agree")));
    const Output with =
        PoolsOk(RunPreloaded("dlsym", scenario, "VRAMSPAN_HOST_MEMORY=16MiB VRAMSPAN_STATS=-"));
    EXPECT_EQ(with.out, without.out);
    EXPECT_THAT(with.err, HasSubstr("vramspan: process"));
  }
}

TEST(Pools, HoldMoreThanTheDevice) {
  for (const char* scenario : {"pools_churn", "pools_churn_pt"}) {
    EXPECT_EQ(RunPlain("dlsym", scenario).code, 1);
    const Output with = PoolsOk(RunPreloaded("dlsym", scenario, "VRAMSPAN_STATS=-"));
    EXPECT_THAT(with.err, HasSubstr("device memory is short"));
  }
}

TEST(Pools, KeepTheOrderOfStreams) {
  for (const char* scenario : {"pools_order", "pools_order_pt"}) {
    PoolsOk(RunPlain("dlsym", scenario));
    PoolsOk(RunPreloaded("dlsym", scenario));
    PoolsOk(RunPreloaded("dlsym", scenario, "VRAMSPAN_DEVICE_MEMORY=4MiB"));
  }
}

TEST(Pools, OfTheProgramsOwn) {
  const std::string devices = "SIMCUDA_DEVICES=2";
  for (const char* scenario : {"pools_own", "pools_own_pt"}) {
    EXPECT_EQ(RunPlain("dlsym", scenario, devices).code, 1);
    PoolsOk(RunPreloaded("dlsym", scenario, devices));
  }
}

TEST(Pools, AreTrimmedByWhateverWaits) {
  PoolsOk(RunPlain("dlsym", "pools_synchronised"));
  PoolsOk(RunPreloaded("dlsym", "pools_synchronised"));
}

// What is freed holds nothing: beside code that is known to name its memory.
TEST(Pools, MoveWhatIsFreedWithoutACopy) {
  for (const char* overlap : {"safe", "all"}) {
    const std::string environment =
        "VRAMSPAN_DEVICE_MEMORY=16MiB VRAMSPAN_OVERLAP=" + std::string(overlap);
    PoolsOk(RunPreloaded("dlsym", "lifetimes:steps", environment));
  }
}

TEST(Pools, HandOutTheBestFitWhereverTheGpuIs) {
  PoolsOk(RunPreloaded("dlsym", "lifetimes:best_fit", "SIMCUDA_DEVICE_MEMORY=256MiB"));
}

TEST(Pools, GiveBackWhatIsIdleWhileAnotherStreamWaits) {
  PoolsOk(RunPreloaded("dlsym", "lifetimes:parked", "SIMCUDA_DEVICE_MEMORY=256MiB"));
}

TEST(Pools, LoseNoWordOfWhoIsHandedFreedMemory) {
  for (const char* overlap : {"off", "safe", "all"}) {
    const std::string environment =
        "VRAMSPAN_DEVICE_MEMORY=16MiB VRAMSPAN_OVERLAP=" + std::string(overlap);
    PoolsOk(RunPreloaded("dlsym", "lifetimes:words", environment));
    PoolsOk(RunPreloaded("dlsym", "lifetimes:free_fails", environment));
  }
}

TEST(Pools, MakeRoomOfWhatTheyKeep) {
  for (const char* overlap : {"off", "safe"}) {
    const std::string environment =
        "VRAMSPAN_DEVICE_MEMORY=16MiB VRAMSPAN_HOST_MEMORY=16MiB VRAMSPAN_OVERLAP=" +
        std::string(overlap);
    PoolsOk(RunPreloaded("dlsym", "lifetimes:no_room", environment));
    PoolsOk(RunPreloaded("dlsym", "lifetimes:no_room_yet", environment));
  }
}

TEST(Pools, KeepNoMoreThanTwiceWhatWasInUse) {
  PoolsOk(RunPreloaded("dlsym", "lifetimes:varies", "VRAMSPAN_DEVICE_MEMORY=16MiB"));
}

TEST(Pools, FollowTheEventsOfTheProgram) {
  for (const char* memory : {"VRAMSPAN_DEVICE_MEMORY=16MiB", "SIMCUDA_DEVICE_MEMORY=256MiB"}) {
    PoolsOk(RunPreloaded("dlsym", "lifetimes:events", memory));
    PoolsOk(RunPreloaded("dlsym", "lifetimes:events_of_graphs", memory));
  }
}

}  // namespace
}  // namespace vramspan_test
