// Two programs that share memory by legacy IPC handles, with the preload in both.
#include <gmock/gmock.h>

#include "tests/preload/run_program.h"

namespace vramspan_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void ExpectIpcOk(const Output& output) {
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.out, "ok\n") << output.err;
}

TEST(PreloadIpc, TwoProcessesShareMemoryWhileOtherMemoryMoves) {
  const Output output = RunPreloaded("proc2", "ipc");
  ExpectIpcOk(output);
  EXPECT_THAT(output.err, AllOf(HasSubstr("its vramspan is of another version"),
                                HasSubstr("the handle was changed after it was given out"),
                                HasSubstr("the allocation was freed, or never existed"),
                                HasSubstr("does not answer")));
  ExpectIpcOk(RunPreloaded("linked_pt", "ipc"));
  ExpectIpcOk(RunPreloaded("dlsym", "ipc", "VRAMSPAN_OVERLAP=all"));
}

TEST(PreloadIpc, WithoutRoomToPinItIsRefusedAndNothingElseSuffers) {
  const Output output = RunPreloaded("proc2", "ipc_full");
  ExpectIpcOk(output);
  EXPECT_THAT(output.err, AllOf(HasSubstr("gets no legacy IPC handle"), HasSubstr("cannot pin")));
}

TEST(PreloadIpc, MemoryStaysWhereTheDriverFailsInTheMiddle) {
  ExpectIpcOk(RunPreloaded("proc2", "ipc_refused"));
}

// The program's clients are its own, its pipes end, its ports are free, and handles lead on.
TEST(PreloadIpc, AProgramMayCloseWhatItDoesNotKnow) {
  ExpectIpcOk(RunPreloaded("proc2", "ipc_closes", "SIMCUDA_DEVICE_MEMORY=256MiB"));
  ExpectIpcOk(RunPreloaded("linked", "ipc_closes", "SIMCUDA_DEVICE_MEMORY=256MiB"));
}

// As above, but that handles lead nowhere from then on, which is said.
TEST(PreloadIpc, AProgramMayCloseWhatItDoesNotKnowWhereItSharesItsDescriptors) {
  const Output output = RunPreloaded("proc2", "ipc_closes_shared", "SIMCUDA_DEVICE_MEMORY=256MiB");
  ExpectIpcOk(output);
  // By the next export; the thread that answers may not have looked before the program ends.
  EXPECT_THAT(output.err, AllOf(HasSubstr("gets no legacy IPC handle"),
                                HasSubstr("the program has closed descriptor")));
}

TEST(PreloadIpc, MutePeersHoldNobodyUp) { ExpectIpcOk(RunPreloaded("proc2", "ipc_mute")); }

TEST(PreloadIpc, WhoWaitsForAProcessHoldsNobodyUp) {
  ExpectIpcOk(RunPreloaded("proc2", "ipc_waits"));
}

}  // namespace
}  // namespace vramspan_test
