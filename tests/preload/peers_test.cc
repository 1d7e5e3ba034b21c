// Programs that use two devices, whose copies and kernels go to each other's memory.
#include <gmock/gmock.h>

#include "tests/preload/run_program.h"

namespace vramspan_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kShortOfPeers[] = "device memory is short";
const std::string kDevices = "SIMCUDA_DEVICES=2 SIMCUDA_DEVICE_MEMORY=96MiB ";

// What it prints is the same as without, whether memory suffices or half of it does.
void ExpectTheSame(const std::string& scenario, const std::string& environment) {
  const Output without = RunPlain("dlsym", scenario, kDevices);
  ASSERT_EQ(without.code, 0) << without.err;
  EXPECT_THAT(without.out, HasSubstr("cuMemcpyAsync: 0\n"));
  const Output fits = RunPreloaded("dlsym", scenario, kDevices + environment);
  EXPECT_EQ(fits.code, 0) << fits.err;
  EXPECT_EQ(fits.out, without.out);
  EXPECT_THAT(fits.err, Not(HasSubstr(kShortOfPeers)));
  const Output half =
      RunPreloaded("dlsym", scenario, kDevices + "VRAMSPAN_DEVICE_MEMORY=12MiB " + environment);
  EXPECT_EQ(half.code, 0) << half.err;
  EXPECT_EQ(half.out, without.out);
  EXPECT_THAT(half.err, HasSubstr(kShortOfPeers));
}

class PeersTest : public ::testing::TestWithParam<const char*> {};

TEST_P(PeersTest, EnabledBeforeMemoryIsAllocated) { ExpectTheSame("peers:before", GetParam()); }
TEST_P(PeersTest, EnabledAfterwards) { ExpectTheSame("peers:after", GetParam()); }
TEST_P(PeersTest, CopiesNeedNone) { ExpectTheSame("peers:never", GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Sources, PeersTest,
    ::testing::Values("VRAMSPAN_TRACER=hooks VRAMSPAN_OVERLAP=off",
                      "VRAMSPAN_TRACER=hooks VRAMSPAN_OVERLAP=safe VRAMSPAN_CHUNK=2MiB",
                      "VRAMSPAN_TRACER=cupti VRAMSPAN_OVERLAP=safe VRAMSPAN_CHUNK=2MiB"));

// Without the preload, and with it: memory that suffices, and as little as this.
void ExpectOk(const std::string& scenario, const std::string& little) {
  const Output without = RunPlain("dlsym", scenario, kDevices);
  EXPECT_EQ(without.out, "ok\n") << without.err;
  for (const std::string& memory : {std::string(), "VRAMSPAN_DEVICE_MEMORY=" + little}) {
    const Output with = RunPreloaded("dlsym", scenario, kDevices + memory);
    EXPECT_EQ(with.out, "ok\n") << with.err;
  }
}

TEST(Peers, CopyFromAfar) { ExpectOk("peers_afar", "12MiB"); }
TEST(Peers, MayBeDisabled) { ExpectOk("peers_disabled", "12MiB"); }
// What the other device had submitted is waited for before anything moves.
TEST(Peers, WorkFromBeforeMemoryWasShort) {
  for (const char* const source : {"hooks", "cupti"}) {
    for (const char* const overlap : {"off", "safe"}) {
      ExpectOk("peers_in_flight", std::string("28MiB VRAMSPAN_CHUNK=2MiB VRAMSPAN_TRACER=") +
                                      source + " VRAMSPAN_OVERLAP=" + overlap);
    }
  }
}
TEST(Peers, EndWithTheirContexts) { ExpectOk("peers_end", "12MiB"); }
TEST(Peers, MayBeGivenAPoolThatIsInUse) { ExpectOk("peers_pool", "6MiB"); }

// Host memory is opened, the rest goes as copies that name the contexts.
TEST(Peers, CopyWhereDevicesDoNotReachEachOther) {
  const std::string apart = "SIMCUDA_PEER_ACCESS=0 ";
  const Output without = RunPlain("dlsym", "peers_apart", kDevices + apart);
  ASSERT_EQ(without.code, 0) << without.err;
  for (const std::string& memory : {std::string(), std::string("VRAMSPAN_DEVICE_MEMORY=12MiB ")}) {
    for (const char* const overlap : {"VRAMSPAN_OVERLAP=off", "VRAMSPAN_OVERLAP=safe"}) {
      const Output with = RunPreloaded("dlsym", "peers_apart", kDevices + apart + memory + overlap);
      EXPECT_EQ(with.code, 0) << with.err;
      EXPECT_EQ(with.out, without.out);
      EXPECT_THAT(with.err, Not(HasSubstr("gets no access")));
    }
  }
}

// The program goes on without access, and is told so.
TEST(Peers, AccessThatCannotBeGivenIsRefused) {
  const Output with = RunPreloaded("dlsym", "peers_refused", kDevices);
  EXPECT_EQ(with.out, "ok\n") << with.err;
  EXPECT_THAT(with.err, HasSubstr("device 1 gets no access to memory of device 0"));
}

}  // namespace
}  // namespace vramspan_test
