// How long recorded work takes, looked at while the program captures.
#include "runtime/api/work_timer.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/mover/traced_fixture.h"
#include "tests/mover/world.h"

namespace vramspan_test {
namespace {

using vramspan::Driver;
using vramspan::WorkTimer;

class WorkTimerTest : public MoverTest {};

// In global mode the driver ruins a capture if any thread asks for an event.
TEST_F(WorkTimerTest, RuinsNoCapture) {
  const auto driver = Driver::Load();
  ASSERT_TRUE(driver.ok()) << driver.status();
  CUcontext context = nullptr;
  ASSERT_CU((*driver)->api().CtxGetCurrent(&context));
  std::atomic<int> told{0};
  auto timer = WorkTimer::Start(
      *driver, context, [&](uint64_t, auto, auto) { ++told; }, [](uint64_t) {});
  ASSERT_TRUE(timer.ok()) << timer.status();
  const CUstream timed = world_.NewStream(), captured = world_.NewStream();
  const auto begin = world_.Symbol<decltype(&cuStreamBeginCapture_v2)>("cuStreamBeginCapture_v2");
  const auto end = world_.Symbol<decltype(&cuStreamEndCapture)>("cuStreamEndCapture");
  ASSERT_CU(begin(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
  for (int i = 0; i < 3; ++i) {
    const CUevent before = (*timer)->Before(timed);
    ASSERT_NE(before, nullptr);
    EXPECT_TRUE((*timer)->Behind(before, timed, 1));
    EXPECT_TRUE(Eventually([&] { return told == i + 1; }));
  }
  CUgraph graph = nullptr;
  EXPECT_CU(end(captured, &graph)) << "the capture was ruined";
  for (const CUstream stream : {timed, captured}) EXPECT_CU(world_.api().StreamDestroy(stream));
}

}  // namespace
}  // namespace vramspan_test
