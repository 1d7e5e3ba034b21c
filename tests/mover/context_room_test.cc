// What a context took, of what was free before it and after.
#include "runtime/mover/context_room.h"

#include <gtest/gtest.h>

namespace vramspan {
namespace {

TEST(ContextRoom, AMeasurementIsWhatIsLessAfterward) {
  EXPECT_EQ(TakenByContext(MiB(64), MiB(48)), MiB(16));
}

TEST(ContextRoom, WhereOthersGaveMemoryBackNothingIsCertain) {
  EXPECT_EQ(TakenByContext(MiB(64), MiB(64)), std::nullopt) << "no context takes nothing";
  EXPECT_EQ(TakenByContext(MiB(64), MiB(80)), std::nullopt);
  EXPECT_EQ(TakenByContext(std::nullopt, MiB(80)), std::nullopt);
  EXPECT_EQ(TakenByContext(MiB(64), std::nullopt), std::nullopt);
}

}  // namespace
}  // namespace vramspan
