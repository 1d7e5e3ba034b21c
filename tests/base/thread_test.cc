#include "runtime/base/thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/base/refuse_threads.h"

namespace vramspan {
namespace {

using ::testing::HasSubstr;

// Signals that a thread may block and does not.
std::vector<int> Open(const sigset_t& mask) {
  std::vector<int> open;
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    // Nobody can block these; two below SIGRTMIN are the library's own.
    if (signal == SIGKILL || signal == SIGSTOP || (signal > 31 && signal < SIGRTMIN)) continue;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    if (signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL) continue;
#endif
    if (sigismember(&mask, signal) == 0) open.push_back(signal);
  }
  return open;
}

sigset_t Mask() {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return mask;
}

TEST(Thread, TakesNoSignal) {
  const std::vector<int> before = Open(Mask());
  std::vector<int> open{-1};
  StatusOr<Thread> thread = StartThread("signals", [&] { open = Open(Mask()); });
  ASSERT_TRUE(thread.ok()) << thread.status();
  EXPECT_EQ(Open(Mask()), before);
  thread->Join();
  EXPECT_THAT(open, ::testing::IsEmpty());
}

TEST(Thread, HasItsName) {
  std::string name;
  StatusOr<Thread> thread = StartThread("vramspan-test", [&] {
    char text[16];
    pthread_getname_np(pthread_self(), text, sizeof(text));
    name = text;
  });
  ASSERT_TRUE(thread.ok()) << thread.status();
  thread->Join();
  EXPECT_EQ(name, "vramspan-test");
}

TEST(Thread, CannotBeCancelled) {
  std::atomic<pthread_t> id{};
  std::atomic<bool> go{false}, ended{false};
  StatusOr<Thread> thread = StartThread("cancelled", [&] {
    id.store(pthread_self());
    while (!go.load()) usleep(100);  // A cancellation point.
    usleep(100);
    ended.store(true);
  });
  ASSERT_TRUE(thread.ok()) << thread.status();
  while (id.load() == pthread_t{}) usleep(100);
  pthread_cancel(id.load());
  go.store(true);
  thread->Join();
  EXPECT_TRUE(ended.load());
}

TEST(Thread, AnExceptionIsToldToTheOwner) {
  bool told = false;
  StatusOr<Thread> thread = StartThread(
      "throws", [] { throw std::runtime_error("no memory for this"); },
      [&] {
        told = true;
        throw 7;  // Nor does this end the program.
      });
  ASSERT_TRUE(thread.ok()) << thread.status();
  thread->Join();
  EXPECT_TRUE(told);
}

TEST(Thread, OneThatCannotBeMadeIsAStatus) {
  const RefuseThreads refuse;
  const StatusOr<Thread> thread = StartThread("vramspan-test", [] { FAIL(); });
  EXPECT_TRUE(absl::IsResourceExhausted(thread.status())) << thread.status();
  EXPECT_THAT(std::string(thread.status().message()), HasSubstr("vramspan-test"));
}

TEST(Thread, IsJoinedWhenItGoes) {
  std::atomic<bool> ended{false};
  {
    StatusOr<Thread> thread = StartThread("joined", [&] {
      usleep(1000);
      ended.store(true);
    });
    ASSERT_TRUE(thread.ok()) << thread.status();
  }
  EXPECT_TRUE(ended.load());
}

TEST(Thread, AChildOfForkJoinsNoneOfItsParent) {
  std::atomic<bool> stop{false};
  StatusOr<Thread> thread = StartThread("parents", [&] {
    while (!stop.load()) usleep(100);
  });
  ASSERT_TRUE(thread.ok()) << thread.status();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    thread->Join();
    _exit(7);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  stop.store(true);
}

TEST(RunApart, RunsOnAnotherThread) {
  pthread_t where = pthread_self();
  RunApart("apart", [&] { where = pthread_self(); });
  EXPECT_EQ(pthread_equal(where, pthread_self()), 0);
}

TEST(RunApart, RunsHereWhereThereIsNone) {
  const RefuseThreads refuse;
  pthread_t where{};
  RunApart("apart", [&] {
    where = pthread_self();
    throw std::runtime_error("that this does not end the program is tested");
  });
  EXPECT_NE(pthread_equal(where, pthread_self()), 0);
}

}  // namespace
}  // namespace vramspan
