// Two programs that share memory by legacy IPC handles, with the preload in both.
#include <gmock/gmock.h>

#include "tests/preload/run_program.h"

namespace vramspan_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void ExpectOk(const Output& output) {
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.out, "ok\n") << output.err;
}

TEST(PreloadIpc, TwoProcessesShareMemoryWhileOtherMemoryMoves) {
  const Output output = RunPreloaded("proc2", "ipc");
  ExpectOk(output);
  EXPECT_THAT(output.err, AllOf(HasSubstr("its vramspan is of another version"),
                                HasSubstr("the handle is not as it was given out"),
                                HasSubstr("the allocation was freed, or never was"),
                                HasSubstr("does not answer")));
  ExpectOk(RunPreloaded("linked_pt", "ipc"));
  ExpectOk(RunPreloaded("dlsym", "ipc", "VRAMSPAN_OVERLAP=all"));
}

TEST(PreloadIpc, WithoutRoomToPinItIsRefusedAndNothingElseSuffers) {
  const Output output = RunPreloaded("proc2", "ipc_full");
  ExpectOk(output);
  EXPECT_THAT(output.err, AllOf(HasSubstr("gets no legacy IPC handle"), HasSubstr("cannot pin")));
}

TEST(PreloadIpc, MemoryStaysWhereTheDriverFailsInTheMiddle) {
  ExpectOk(RunPreloaded("proc2", "ipc_refused"));
}

}  // namespace
}  // namespace vramspan_test
