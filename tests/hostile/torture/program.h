// The program as a whole: its context, kernels, threads' common things, and what counts as an
// error.
//
// Nothing here is ever destroyed: threads may run while the process ends.
#ifndef VRAMSPAN_TESTS_HOSTILE_TORTURE_PROGRAM_H_
#define VRAMSPAN_TESTS_HOSTILE_TORTURE_PROGRAM_H_

#include <cuda.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "tests/hostile/torture/model.h"
#include "tests/hostile/torture/options.h"
#include "tools/simcuda/kernel_images.h"

SIMCUDA_DECLARE_KERNELS(torture_kernels);

namespace torture {

struct Failure {
  std::string text;
};

// An array on its way from one thread to another, behind an event.
struct Passed {
  Array array;
  CUevent behind = nullptr;
};

struct Program {
  Options options;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr, slow_module = nullptr;
  CUfunction fill_hash = nullptr, add_constant = nullptr, copy = nullptr, checksum = nullptr,
             slow_add = nullptr;
  size_t granularity = 0;
  std::chrono::steady_clock::time_point begin;
  std::atomic<uint64_t> operations{0}, checked{0}, threads{0}, refused{0}, injected{0};
  std::atomic<bool> stop{false};    // All threads come to their end.
  std::atomic<bool> broken{false};  // Something was wrong: said on stderr.
  std::mutex mu;
  std::vector<Passed> passed;           // Guarded by mu.
  std::vector<CUmemoryPool> old_pools;  // Likewise; those that may still have memory in use.

  // Shared by who captures: a synchronous copy and a wait for the context ruin all its captures.
  std::shared_mutex capturing;

  bool Late() const;
  void Start();  // Retains the primary context, and loads the kernels.
};

// For results: true for success; false for what the options let happen (an injected failure, no
// memory for what allocates). Throws Failure for all else.
bool Done(const Program& program, CUresult result, const char* what, bool allocates = false);

// A call that nothing goes on without: tried again where its failure was injected.
template <typename Call>
void Must(Program& program, const char* what, Call&& call) {
  for (int i = 0; i < 20; ++i) {
    if (Done(program, call(), what)) return;
    ++program.injected;
  }
  throw Failure{std::string(what) + " fails again and again"};
}
#define MUST(call) Must(program_, #call, [&] { return (call); })

// Makes the driver slow, or fail once, at random (simulated driver; nothing on another).
void Disturb(const Program& program, uint64_t random);

}  // namespace torture

#endif  // VRAMSPAN_TESTS_HOSTILE_TORTURE_PROGRAM_H_
