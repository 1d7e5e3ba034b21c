// Programs that make and map memory by the driver's VMM calls, with the preload in them.
#include <gmock/gmock.h>

#include "tests/preload/run_program.h"

namespace vramspan_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

void ExpectVmmOk(const Output& output) {
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.out, "ok\n") << output.err;
}

TEST(PreloadVmm, APoolThatGrowsHasTwiceTheDevicesMemory) {
  const Output without = RunPlain("proc2", "expandable");
  EXPECT_EQ(without.code, 1);
  EXPECT_THAT(without.err, HasSubstr("MemCreate(&handle, piece_, &properties, 0) is 2"));
  for (const char* route : {"proc2_pt", "linked", "dlsym"}) {
    const Output with = RunPreloaded(route, "expandable", "VRAMSPAN_STATS=- VRAMSPAN_LOG=info");
    ExpectVmmOk(with);
    EXPECT_THAT(with.err, HasSubstr("(0 named no memory of vramspan)"));
    EXPECT_THAT(with.err, Not(HasSubstr("its own VMM"))) << "all of it is ours";
  }
}

TEST(PreloadVmm, WorkOverlapsWithMovesOfAPool) {
  ExpectVmmOk(RunPreloaded("proc2", "expandable", "VRAMSPAN_OVERLAP=safe"));
  ExpectVmmOk(RunPreloaded("proc2", "expandable", "VRAMSPAN_OVERLAP=all"));
}

TEST(PreloadVmm, AnswersAsTheDriverDoes) {
  const Output without = RunPlain("proc2", "vmm_answers");
  const Output with = RunPreloaded("proc2", "vmm_answers");
  EXPECT_EQ(without.code, 0) << without.err;
  EXPECT_EQ(with.code, 0) << with.err;
  EXPECT_THAT(without.out, HasSubstr("map once more: 0"));
  EXPECT_EQ(with.out, without.out);
}

TEST(PreloadVmm, WhatOnlyANewerDriverKnowsIsPassedOn) {
  const std::string newer = "SIMCUDA_NEWER=1 ";
  EXPECT_EQ(RunPlain("proc2", "vmm_newer").code, 1) << "today's driver knows none of it";
  ExpectVmmOk(RunPlain("proc2", "vmm_newer", newer));
  const Output with = RunPreloaded("proc2", "vmm_newer", newer + "VRAMSPAN_LOG=info");
  ExpectVmmOk(with);
  EXPECT_THAT(with.err, HasSubstr("it is mapped with flags"));
}

TEST(PreloadVmm, IsStricterThanTheDriverInPlaces) {
  for (const Output& output :
       {RunPlain("proc2", "vmm_refused"), RunPreloaded("proc2", "vmm_refused")}) {
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_EQ(output.out,
              "map beyond: 1\nmap released: 1\nproperties of released: 1\nunmap beyond: 1\nok\n");
  }
}

TEST(PreloadVmm, WhatIsSharedIsTheDriversAndKeepsItsContents) {
  const Output without = RunPlain("proc2", "vmm_shared");
  EXPECT_THAT(without.err, HasSubstr("MemAlloc(&b, bytes) is 2")) << "it comes to more memory";
  const Output with = RunPreloaded("proc2", "vmm_shared", "VRAMSPAN_LOG=info");
  ExpectVmmOk(with);
  for (const char* why : {"it is mapped twice", "it is exported", "a reservation of its own"}) {
    EXPECT_THAT(with.err, HasSubstr(why));
  }
}

TEST(PreloadVmm, WhatChangesBehindAnAddressDoesNotConcernWorkOfOthers) {
  for (const char* scenario : {"vmm_beside:twice", "vmm_beside:exported"}) {
    ExpectVmmOk(RunPlain("proc2", scenario));
    for (const char* overlap : {"off", "safe", "all"}) {
      ExpectVmmOk(RunPreloaded("proc2", scenario, std::string("VRAMSPAN_OVERLAP=") + overlap));
    }
  }
}

// Each call within the test's time limit, though what runs never ends without the program.
TEST(PreloadVmm, NoCallWaitsForWorkThatItDoesNotConcern) {
  ExpectVmmOk(RunPlain("proc2", "vmm_beside_waiting"));
  for (const char* overlap : {"off", "safe", "all"}) {
    const std::string environment = std::string("VRAMSPAN_OVERLAP=") + overlap;
    ExpectVmmOk(RunPreloaded("proc2", "vmm_beside_waiting", environment));
    ExpectVmmOk(RunPreloaded("proc2", "vmm_beside_waiting_short", environment));
  }
}

}  // namespace
}  // namespace vramspan_test
