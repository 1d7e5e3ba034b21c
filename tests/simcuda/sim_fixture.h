#ifndef VRAMSPAN_TESTS_SIMCUDA_SIM_FIXTURE_H_
#define VRAMSPAN_TESTS_SIMCUDA_SIM_FIXTURE_H_

// A test that runs on the simulated driver, which the test program links: two devices of 256 MiB, a
// current primary context of device 0, all switches reset. Whatever a test leaves behind goes with
// the context; memory still in use after that fails the test.

#include <cuda.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tools/simcuda/control.h"

#define SIM_OK(call) ASSERT_EQ((call), CUDA_SUCCESS)
#define SIM_EXPECT_OK(call) EXPECT_EQ((call), CUDA_SUCCESS)

namespace simcuda {

inline constexpr size_t kMiB = size_t{1} << 20;
inline constexpr size_t kGranularity = 2 * kMiB;

class SimTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  CUcontext context_ = nullptr;
};

// A stream that stands still until it is opened: parked at a wait on a page-locked word.
class Gate {
 public:
  Gate();
  ~Gate();  // opens
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  CUdeviceptr address() const { return reinterpret_cast<CUdeviceptr>(word_); }
  void Park(CUstream stream);
  void Open();

 private:
  uint32_t* word_ = nullptr;
};

// Runs a function in stream order.
CUresult LaunchFunction(CUstream stream, std::function<void()> function);

// Device memory by way of VMM: a reservation, and one handle mapped there with access.
struct Chunk {
  CUdeviceptr address = 0;
  size_t size = 0;
  CUmemGenericAllocationHandle handle = 0;
};
CUmemAllocationProp DeviceProp(int device = 0);
CUmemAllocationProp HostProp();
CUmemAccessDesc DeviceAccess(CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
Chunk MapChunk(const CUmemAllocationProp& prop, size_t size = kGranularity);
void UnmapChunk(const Chunk& chunk);

// Whether the condition comes true within some seconds.
bool Eventually(const std::function<bool()>& condition);

// Time enough for work that could run to have run; nothing is proved by its passing but that.
void LetWorkersRun();

}  // namespace simcuda

#endif  // VRAMSPAN_TESTS_SIMCUDA_SIM_FIXTURE_H_
