// What the tests of the runtime share: the simulated driver with its failure switches, the test
// kernels, a runtime, and buffers whose contents are known word by word.
#ifndef VRAMSPAN_TESTS_MOVER_WORLD_H_
#define VRAMSPAN_TESTS_MOVER_WORLD_H_

#include <cuda.h>
#include <gtest/gtest.h>

#include <atomic>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "include/vramspan/vramspan.h"
#include "runtime/driver/driver.h"
#include "tests/kernels/test_kernels.h"
#include "tests/mover/watchdog.h"
#include "tools/simcuda/control.h"

namespace vramspan_test {

using Word = unsigned long long;

inline constexpr size_t kMiB = size_t{1} << 20;
inline constexpr size_t kChunk = 2 * kMiB;

// Memory of the runtime and what its words must be: word i is HashWord(i, seed) + add.
struct Buffer {
  CUdeviceptr ptr = 0;
  size_t words = 0;
  Word seed = 0;
  Word add = 0;

  size_t bytes() const { return words * sizeof(Word); }
  vramspanRange range(uint32_t access) const { return {ptr, bytes(), access, 0}; }
};

// The simulated driver, with its primary context current. Failure switches are off before and
// after. The runtime's log is off meanwhile: failures here are meant to be.
class World {
 public:
  World();
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  const vramspan::DriverApi& api() const { return driver_->api(); }
  template <typename F>
  F Symbol(const char* name) const {
    const auto f = reinterpret_cast<F>(driver_->Symbol(name));
    if (f == nullptr) ADD_FAILURE() << "the driver has no " << name;
    return f;
  }
  CUcontext context() const { return context_; }
  CUfunction Kernel(const char* name) const;
  CUstream NewStream(unsigned flags = CU_STREAM_NON_BLOCKING) const;

  CUresult Launch(CUfunction kernel, CUstream stream, std::vector<void*> params,
                  unsigned blocks = 4) const;
  CUresult LaunchFill(const Buffer& b, CUstream stream) const;  // To HashWord(i, seed).
  CUresult LaunchAdd(const Buffer& b, Word value, CUstream stream, unsigned blocks = 4) const;
  CUresult LaunchChecksum(const Buffer& b, CUdeviceptr out, CUstream stream) const;
  unsigned long long launches() const { return launches_; }
  // The first wrong word in words; empty when all are right. Waits for the legacy stream only.
  std::string Wrong(const Buffer& b) const;

  decltype(&simcudaFail) fail;
  decltype(&simcudaFailedCalls) failed_calls;
  decltype(&simcudaCallCount) call_count;
  decltype(&simcudaSetDelay) set_delay;
  decltype(&simcudaMemoryUsed) memory_used;
  decltype(&simcudaSetDeviceMemory) set_device_memory;
  decltype(&simcudaSetHostMemory) set_host_memory;
  decltype(&simcudaStaleHandleUses) stale_uses;
  decltype(&simcudaReset) reset;

 private:
  std::shared_ptr<const vramspan::Driver> driver_;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  CUfunction fill_ = nullptr, add_ = nullptr, checksum_ = nullptr;
  mutable std::atomic<unsigned long long> launches_{0};
  decltype(&cuMemcpyDtoH_v2) memcpy_dtoh_;
};

// A word in pinned host memory that kernels and stream waits look at.
class HostFlag {
 public:
  explicit HostFlag(const World& world);
  ~HostFlag();
  HostFlag(const HostFlag&) = delete;
  HostFlag& operator=(const HostFlag&) = delete;

  CUdeviceptr address() const { return reinterpret_cast<CUdeviceptr>(word_); }
  void Set(unsigned value) { word_->store(value, std::memory_order_seq_cst); }
  unsigned Get() const { return word_->load(std::memory_order_seq_cst); }
  // Makes the stream wait until it is at least `value`: by a kernel, or by a stream wait.
  CUresult SpinIn(CUstream stream, unsigned value) const;
  CUresult ParkIn(CUstream stream, unsigned value) const;

 private:
  const World& world_;
  std::atomic<unsigned>* word_ = nullptr;
};

// A runtime on the world's context: small chunks, a budget of a few of them.
struct RuntimeOptions {
  std::string device_memory = "8MiB";
  std::string host_memory = "1GiB";
  uint32_t flags = 0;
  uint32_t deadline_us = 0;
  const char* policy = nullptr;
  const char* chunk = "2MiB";
  const char* tracer = "off";
  const char* overlap = nullptr;
};
vramspanConfig Config(const RuntimeOptions& options);  // Points into `options`.

class TestRuntime {
 public:
  explicit TestRuntime(const World& world, const RuntimeOptions& options = {});
  ~TestRuntime();
  TestRuntime(const TestRuntime&) = delete;
  TestRuntime& operator=(const TestRuntime&) = delete;

  vramspanRuntime get() const { return runtime_; }
  vramspanStatistics stats() const;
  CUresult Destroy();

  Buffer Alloc(size_t bytes);
  void Free(Buffer& b);
  // Declares, launches, ends. Contents are counted as changed when the launch went through.
  void Fill(Buffer& b, Word seed, CUstream stream);
  void Add(Buffer& b, Word value, CUstream stream);
  void Begin(CUstream stream, std::initializer_list<vramspanRange> ranges);
  void End(CUstream stream);
  void Synchronize();
  // All of it, on the device, pinned by nobody.
  uint64_t OnDevice(const Buffer& b) const;

  // `count` buffers of `bytes` each, filled, and everything the runtime must know of them known:
  // memory is movable from here on.
  std::vector<Buffer> Filled(size_t count, size_t bytes, CUstream stream);

 private:
  const World& world_;
  vramspanRuntime runtime_ = nullptr;
};

class MoverTest : public testing::Test {
 protected:
  ~MoverTest() override;

  World world_;
};

// The last error's text, for messages of expectations.
std::string LastError();

// EXPECT for a call of vramspan and of the driver.
#define EXPECT_SPAN(call) EXPECT_EQ((call), CUDA_SUCCESS) << vramspan_test::LastError()
#define ASSERT_SPAN(call) ASSERT_EQ((call), CUDA_SUCCESS) << vramspan_test::LastError()
#define EXPECT_CU(call) EXPECT_EQ((call), CUDA_SUCCESS)
#define ASSERT_CU(call) ASSERT_EQ((call), CUDA_SUCCESS)

}  // namespace vramspan_test

#endif  // VRAMSPAN_TESTS_MOVER_WORLD_H_
