// The hooks are a launch source as CUPTI is: no call that the runtime wants to hear of goes
// without.
#include <cupti.h>
#include <gtest/gtest.h>

#include <set>

#include "runtime/observe/decoder.h"

namespace vramspan {
namespace {

TEST(HookedCalls, EveryCallThatIsWatchedHasAHook) {
  const std::set<uint32_t> hooked = {
#define X(base, version, symbol) CUPTI_DRIVER_TRACE_CBID_##symbol,
#include "tests/preload/hooked_symbols.inc"
#undef X
  };
  size_t watched = 0;
  for (uint32_t call = 0; call < CUPTI_DRIVER_TRACE_CBID_SIZE; ++call) {
    if (Decoder::ClassOf(call) == CallClass::kNone) continue;
    ++watched;
    EXPECT_TRUE(hooked.contains(call)) << "CUPTI's call " << call << " (cupti_driver_cbid.h)";
  }
  EXPECT_GT(watched, 100u);
  EXPECT_TRUE(hooked.contains(CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy));
  EXPECT_TRUE(hooked.contains(CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2));
}

}  // namespace
}  // namespace vramspan
