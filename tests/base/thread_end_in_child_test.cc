// Apart from the other tests: ThreadSanitizer crashes where the only thread of a child ends itself.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "runtime/base/thread_end.h"

namespace vramspan {
namespace {

TEST(ThreadEnd, IsNotToldInAChild) {
  class Exits : public ThreadEnd::Listener {
   public:
    void ThreadEnds() override {
      if (getpid() != parent) _exit(1);
    }
    const pid_t parent = getpid();
  };
  const auto exits = std::make_shared<Exits>();
  std::thread([&] {
    ThreadEnd::Tell(exits);
    const pid_t child = fork();
    if (child == 0) pthread_exit(nullptr);  // Its last thread: the process ends with 0.
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }).join();
}

}  // namespace
}  // namespace vramspan
