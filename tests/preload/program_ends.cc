// Children of fork, and threads that are cancelled, beside threads that launch.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/preload/program_calls.h"

namespace {

constexpr size_t kBytes = size_t{4} << 20;
constexpr size_t kWords = kBytes / sizeof(unsigned long long);

// From here on a thread that is made ends the process, with SIGSYS.
void ForbidThreads() {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{sizeof(steps) / sizeof(steps[0]), steps};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

int Ends(pid_t child) {
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  return status;
}

// As the driver answers a child.
void CheckRefused(Program* p, CUdeviceptr memory) {
  const Api& api = p->api;
  CUdeviceptr more = 0;
  size_t words = kWords, free = 0, total = 0;
  unsigned long long value = 1;
  void* params[] = {&memory, &words, &value};
  const bool refused =
      api.MemAlloc(&more, kBytes) == CUDA_ERROR_NOT_INITIALIZED &&
      api.LaunchKernel(p->add_constant, 1, 1, 1, 1, 1, 1, 0, p->stream, params, nullptr) ==
          CUDA_ERROR_NOT_INITIALIZED &&
      api.MemcpyHtoD(memory, &value, sizeof(value)) == CUDA_ERROR_NOT_INITIALIZED &&
      api.StreamSynchronize(p->stream) == CUDA_ERROR_NOT_INITIALIZED &&
      api.MemGetInfo(&free, &total) == CUDA_ERROR_NOT_INITIALIZED &&
      api.MemFree(memory) == CUDA_ERROR_NOT_INITIALIZED &&
      api.Init(0) == CUDA_ERROR_NOT_INITIALIZED;
  if (!refused) _exit(3);
}

// Threads that launch, allocate and free until it goes.
class Busy {
 public:
  Busy(Program* p, const std::vector<CUdeviceptr>& buffers) {
    for (size_t t = 0; t < 2; ++t) {
      threads_.emplace_back([this, p, &buffers, t] {
        CHECK_OK(p->api.CtxSetCurrent(p->context));
        for (size_t i = t; !stop_; ++i) {
          p->Launch(p->add_constant, buffers[i % buffers.size()], kWords, 1);
          if (i % 16 != 0) continue;
          CHECK_OK(p->api.StreamSynchronize(p->stream));
          CUdeviceptr more = 0;
          CHECK_OK(p->api.MemAlloc(&more, kBytes));
          CHECK_OK(p->api.MemFree(more));
        }
      });
    }
  }
  ~Busy() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

std::vector<CUdeviceptr> Buffers(Program* p, size_t count) {
  std::vector<CUdeviceptr> buffers(count);
  for (size_t i = 0; i < count; ++i) {
    CHECK_OK(p->api.MemAlloc(&buffers[i], kBytes));
    p->Launch(p->fill_hash, buffers[i], kWords, i);
  }
  CHECK_OK(p->api.StreamSynchronize(p->stream));
  return buffers;
}

[[maybe_unused]] int LeavesAtOnce(void*) { return 0; }

}  // namespace

void ChildrenOfFork(Program* p) {
  p->Start();
  const std::vector<CUdeviceptr> buffers = Buffers(p, 16);
  std::fflush(nullptr);
  {
    const Busy busy(p, buffers);
    for (int i = 0; i < 40; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        alarm(20);  // It waits for none of its parent's threads.
        ForbidThreads();
        CheckRefused(p, buffers[0]);
        if (i % 4 == 3) _exit(0);
        if (i % 4 == 1) std::quick_exit(0);
        std::exit(0);
      }
      const int status = Ends(child);
      if (status != 0) Fail("child " + std::to_string(i) + ": " + std::to_string(status));
    }
    for (int i = 0; i < 20; ++i) {
      pid_t child = vfork();
      if (child == 0) _exit(0);
      CHECK(Ends(child) == 0);
#ifndef __SANITIZE_THREAD__  // What it knows of a thread the child would share, and change.
      alignas(64) static char stack[1 << 16];
      child =
          clone(&LeavesAtOnce, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, nullptr);
      CHECK(Ends(child) == 0);
#endif
      char name[] = "true";
      char* arguments[] = {name, nullptr};
      char* environment[] = {nullptr};
      CHECK(posix_spawnp(&child, name, nullptr, nullptr, arguments, environment) == 0);
      CHECK(Ends(child) == 0);
    }
  }
  p->WorkBeyondMemory(kBytes);
}

namespace {

struct Cancelled {
  Program* p;
  const std::vector<CUdeviceptr>* buffers;
  int kind;
  std::atomic<long> launches{0};
};

void* LaunchUntilCancelled(void* data) {
  Cancelled& c = *static_cast<Cancelled*>(data);
  CHECK_OK(c.p->api.CtxSetCurrent(c.p->context));
  for (size_t i = 0;; ++i) {
    // What the program has set itself is as it was behind each call.
    const int wanted = i % 2 == 0 ? PTHREAD_CANCEL_DISABLE : PTHREAD_CANCEL_ENABLE;
    if (c.kind == 1) pthread_setcancelstate(wanted, nullptr);
    c.p->Launch(c.p->add_constant, (*c.buffers)[i % c.buffers->size()], kWords, 1);
    if (c.kind == 2) CHECK_OK(c.p->api.StreamSynchronize(c.p->stream));
    ++c.launches;
    if (c.kind == 1) {
      int found = 0;
      pthread_setcancelstate(wanted, &found);
      CHECK(found == wanted);
    }
    // The driver need not wait, and then nothing else in here can be cancelled.
    pthread_testcancel();
  }
}

}  // namespace

void ThreadsAreCancelled(Program* p) {
  p->Start();
  const std::vector<CUdeviceptr> buffers = Buffers(p, 24);
  for (int i = 0; i < 12; ++i) {
    Cancelled c{p, &buffers, i % 3};
    pthread_t thread;
    CHECK(pthread_create(&thread, nullptr, &LaunchUntilCancelled, &c) == 0);
    while (c.launches < 3 * i) std::this_thread::yield();
    CHECK(pthread_cancel(thread) == 0);
    void* result = nullptr;
    CHECK(pthread_join(thread, &result) == 0);
    CHECK(result == PTHREAD_CANCELED);
    for (const CUdeviceptr b : buffers) p->Launch(p->add_constant, b, kWords, 1);
    CHECK_OK(p->api.CtxSynchronize());
  }
  for (const CUdeviceptr b : buffers) CHECK_OK(p->api.MemFree(b));
  p->WorkBeyondMemory(kBytes);
}
