// What the hang tests share: programs that a careless runtime would never let end. They run on the
// simulated and on a real driver (VRAMSPAN_DRIVER names it, as for every program), through the
// public C interface; the driver seam is for launches and copies.
//
// Memory is placed by hand before each situation, so that every test knows which buffers must move;
// all of them are compared word by word at its end. A kernel that waits gives up after some seconds
// and the test fails; whatever else does not come back ends in the watchdog, which names the step.
//
// Threads: buffers belong to the thread that submits work for them; the rest is the test's.
#ifndef VRAMSPAN_TESTS_MOVER_HANGS_TEST_FIXTURE_H_
#define VRAMSPAN_TESTS_MOVER_HANGS_TEST_FIXTURE_H_

#include <cuda.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "include/vramspan/vramspan.h"
#include "runtime/driver/driver.h"

namespace vramspan_test {

using Word = unsigned long long;

inline constexpr size_t kMiB = size_t{1} << 20;
inline constexpr size_t kChunk = 2 * kMiB;
inline constexpr size_t kWords = kChunk / sizeof(Word);

// Ends the process when a step takes too long, saying in which situation and what it waited for.
class StepWatchdog {
 public:
  explicit StepWatchdog(std::string situation);
  ~StepWatchdog();
  // The next step; `what` completes "waits for ...".
  void Await(std::string what);

 private:
  void Watch();

  const std::string situation_;
  std::mutex mu_;
  std::condition_variable wake_;
  std::string step_;
  std::chrono::steady_clock::time_point until_;
  bool done_ = false;
  std::thread thread_;
};

// Functions beyond the runtime's own table.
#define VRAMSPAN_HANGS_CALLS(X)                    \
  X(MemcpyHtoD, cuMemcpyHtoD_v2)                   \
  X(MemcpyDtoH, cuMemcpyDtoH_v2)                   \
  X(StreamBeginCapture, cuStreamBeginCapture_v2)   \
  X(StreamEndCapture, cuStreamEndCapture)          \
  X(GraphInstantiate, cuGraphInstantiateWithFlags) \
  X(GraphLaunch, cuGraphLaunch)                    \
  X(GraphExecDestroy, cuGraphExecDestroy)          \
  X(GraphDestroy, cuGraphDestroy)                  \
  X(LibraryLoadData, cuLibraryLoadData)            \
  X(LibraryUnload, cuLibraryUnload)                \
  X(LibraryGetKernel, cuLibraryGetKernel)

// The driver with its primary context and the test kernels, each run once so that none is loaded
// in the middle of a test. Made at first use, for the life of the process.
class HangsWorld {
 public:
  static const HangsWorld& Get();

  const vramspan::DriverApi& api() const { return driver_->api(); }
  CUcontext context() const { return context_; }
  CUfunction Kernel(const char* name) const;
  CUresult Launch(CUfunction kernel, CUstream stream, std::vector<void*> params,
                  unsigned blocks) const;

#define VS_X(field, symbol) decltype(&::symbol) field = nullptr;
  VRAMSPAN_HANGS_CALLS(VS_X)
#undef VS_X

 private:
  HangsWorld();
  void RunEverythingOnce();

  std::shared_ptr<const vramspan::Driver> driver_;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
};

// Two words of page-locked memory: a flag that streams and kernels wait for, and whether a kernel
// gave up waiting, which fails the test.
class Flag {
 public:
  Flag();
  ~Flag();  // Lets go whatever still waits for it.
  Flag(const Flag&) = delete;
  Flag& operator=(const Flag&) = delete;

  void Set(unsigned value) { words_[0].store(value, std::memory_order_seq_cst); }
  unsigned Get() const { return words_[0].load(std::memory_order_seq_cst); }
  // Makes the stream wait until the flag is at least `value`: in a kernel, or by a stream wait.
  void SpinIn(CUstream stream, unsigned value);
  void ParkIn(CUstream stream, unsigned value);
  // A kernel that takes so many cycles of the processor's clock, whatever the flag does.
  void BusyIn(CUstream stream, long long cycles);
  void SetIn(CUstream stream, unsigned value);  // A kernel that sets it.

 private:
  CUdeviceptr Address(size_t word) const { return address_ + word * sizeof(unsigned); }

  std::atomic<unsigned>* words_ = nullptr;
  CUdeviceptr address_ = 0;
};

// One chunk of the runtime's memory. Word i must be HashWord(i, seed) + add, and `head` more in the
// first kHead words.
struct Block {
  static constexpr size_t kHead = 512;
  CUdeviceptr ptr = 0;
  Word seed = 0;
  Word add = 0;
  Word head = 0;

  vramspanRange range(uint32_t access) const { return {ptr, kChunk, access, 0}; }
};

struct HangsOptions {
  size_t budget = 4;         // In chunks.
  uint32_t deadline_us = 0;  // The default is 20 ms.
  uint32_t flags = 0;
  bool traced = false;  // Where there is a CUPTI.
};
// For tests in which memory must be moved, or work must stay held, and nothing may cut it short.
inline constexpr uint32_t kLongDeadlineUs = 60'000'000;

class Hangs : public testing::Test {
 protected:
  Hangs();
  void TearDown() override;

  void Open(const HangsOptions& options = {});
  // `count` more blocks, written by declared work of a stream of their own.
  void Fill(size_t count);
  // Opens, fills, and moves the first `on_device` blocks to the device and the others to the host:
  // what is known of all memory is complete, and it may be moved. REQUIRES: the budget has room.
  void Prepare(size_t blocks, size_t on_device, const HangsOptions& options = {});

  CUstream NewStream(unsigned flags = CU_STREAM_NON_BLOCKING);
  void Await(std::string what) { watchdog_->Await(std::move(what)); }
  // Polls until the condition holds; false after `patience`.
  static bool Within(std::chrono::milliseconds patience, const std::function<bool()>& condition);

  // Runs a function on a thread of its own, with the context current. Join waits for all of them,
  // and comes before whatever they use goes.
  void Start(std::function<void()> work);
  void Join();

  CUresult Begin(CUstream stream, std::initializer_list<size_t> blocks,
                 uint32_t access = VRAMSPAN_READ | VRAMSPAN_WRITE);
  CUresult BeginUnknown(CUstream stream);
  CUresult End(CUstream stream);
  // Launches, without a scope.
  void LaunchAdd(CUstream stream, size_t block, Word value = 1);
  void LaunchAddHead(CUstream stream, size_t block);
  // A scope with one addition for each of the blocks.
  void Add(CUstream stream, std::initializer_list<size_t> blocks);

  vramspanStatistics Stats() const;
  bool OnDevice(size_t block) const;
  // Waits for all declared work, and compares every block.
  void Finish();
  void ExpectContents();
  void CloseRuntime();

  const HangsWorld& world_;
  const vramspan::DriverApi& cu_;
  vramspanRuntime runtime_ = nullptr;
  std::vector<Block> blocks_;
  bool context_dead_ = false;

 private:
  std::unique_ptr<StepWatchdog> watchdog_;
  std::vector<CUstream> streams_;
  std::vector<std::thread> threads_;
};

std::string LastError();  // Of mover_test_world.

#define EXPECT_SPAN(call) EXPECT_EQ((call), CUDA_SUCCESS) << vramspan_test::LastError()
#define ASSERT_SPAN(call) ASSERT_EQ((call), CUDA_SUCCESS) << vramspan_test::LastError()
#define EXPECT_CU(call) EXPECT_EQ((call), CUDA_SUCCESS)
#define ASSERT_CU(call) ASSERT_EQ((call), CUDA_SUCCESS)

}  // namespace vramspan_test

#endif  // VRAMSPAN_TESTS_MOVER_HANGS_TEST_FIXTURE_H_
