#include "runtime/base/own_process.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

namespace vramspan {
namespace {

// What `body` says in the child.
bool Says(pid_t child, const std::function<bool()>& body) {
  if (child == 0) _exit(body() ? 1 : 2);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 0) << status;
  return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

// As programs do it that know better than the C library, whose handlers do not run then.
pid_t BareFork() { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }

TEST(OwnProcess, IsHereAndNotInAChild) {
  EXPECT_FALSE(OwnProcess().Here());
  EXPECT_TRUE(OwnProcess().None());
  const OwnProcess mine = OwnProcess::This();
  EXPECT_TRUE(mine.Here());
  EXPECT_TRUE(mine.Ends());
  EXPECT_FALSE(mine.None());
  const auto here = [&] { return mine.Here() || mine.Ends(); };
  EXPECT_FALSE(Says(fork(), here));
  EXPECT_FALSE(Says(BareFork(), here));
  EXPECT_TRUE(mine.Here()) << "and stays so";
}

TEST(OwnProcess, AChildAndItsChildrenHaveTheirOwn) {
  const OwnProcess mine = OwnProcess::This();
  for (const bool bare : {false, true}) {
    EXPECT_TRUE(Says(bare ? BareFork() : fork(), [&] {
      const OwnProcess child = OwnProcess::This();
      if (!child.Here() || !child.Ends() || mine.Here()) return false;
      return Says(bare ? BareFork() : fork(), [&] {
        const OwnProcess grandchild = OwnProcess::This();
        return grandchild.Here() && !child.Here() && !mine.Here();
      });
    }));
  }
}

OwnProcess shared;
int Shares(void*) { return shared.Here() && !shared.Ends() ? 1 : 2; }

// It shares locks and threads as well; but its end is not the end of what it shares.
TEST(OwnProcess, AChildThatSharesTheMemoryIsHereToo) {
  shared = OwnProcess::This();
  alignas(64) static char stack[1 << 16];
  const pid_t child =
      clone(&Shares, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, nullptr);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_TRUE(shared.Ends());
}

}  // namespace
}  // namespace vramspan
