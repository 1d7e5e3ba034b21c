// One thread of the random program (torture.h), and what its threads share.
#ifndef VRAMSPAN_TESTS_TORTURE_WORKER_H_
#define VRAMSPAN_TESTS_TORTURE_WORKER_H_

#include <cuda.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "include/vramspan/vramspan.h"
#include "runtime/driver/driver.h"
#include "tests/torture/torture.h"

namespace vramspan_test::torture {

struct Failure {
  std::string text;
};

// Functions beyond the runtime's own table, by name.
struct MoreApi {
  decltype(&cuGraphCreate) GraphCreate;
  decltype(&cuGraphAddKernelNode_v2) GraphAddKernelNode;
  decltype(&cuGraphInstantiateWithFlags) GraphInstantiate;
  decltype(&cuGraphLaunch) GraphLaunch;
  decltype(&cuGraphExecDestroy) GraphExecDestroy;
  decltype(&cuGraphDestroy) GraphDestroy;
  decltype(&cuMemcpyDtoH_v2) MemcpyDtoH;
  decltype(&cuStreamBeginCapture_v2) BeginCapture;
  decltype(&cuStreamEndCapture) EndCapture;
};

struct Shared {
  const TortureOptions* options;
  std::shared_ptr<const vramspan::Driver> driver;
  MoreApi more;
  CUcontext context = nullptr;
  vramspanRuntime runtime = nullptr;
  CUfunction fill_hash = nullptr, add_constant = nullptr, copy = nullptr;
  size_t budget = 0;
  std::atomic<uint64_t> operations{0};
  std::atomic<uint64_t> checked{0};
  std::atomic<bool> stop{false};
  std::chrono::steady_clock::time_point begin;
  std::mutex mu;
  std::string failure;
};

// A thread's part of the program. What goes wrong ends up in `shared`, and ends it for all.
void Work(Shared& shared, int index);

}  // namespace vramspan_test::torture

#endif  // VRAMSPAN_TESTS_TORTURE_WORKER_H_
