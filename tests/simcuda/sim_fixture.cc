#include "tests/simcuda/sim_fixture.h"

#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

namespace simcuda {
namespace {

// The driver reads its settings at the first call, after the initialisers.
const bool settings_made = [] {
  setenv("SIMCUDA_DEVICES", "2", 0);
  setenv("SIMCUDA_DEVICE_MEMORY", "256MiB", 0);
  setenv("SIMCUDA_HOST_MEMORY", "256MiB", 0);
  setenv("SIMCUDA_CONTEXT_MEMORY", "16MiB", 0);
  return true;
}();

// What LaunchFunction was given, until the test ends: work that its context's end cancels never
// runs.
std::mutex functions_mutex;
std::vector<std::unique_ptr<std::function<void()>>> functions;

}  // namespace

void SimTest::SetUp() {
  simcudaReset();
  SIM_OK(cuInit(0));
  SIM_OK(cuDevicePrimaryCtxRetain(&context_, 0));
  SIM_OK(cuCtxSetCurrent(context_));
}

void SimTest::TearDown() {
  simcudaReset();
  for (CUcontext top = context_; top != nullptr;) {
    SIM_OK(cuCtxSetCurrent(nullptr));
    SIM_OK(cuCtxGetCurrent(&top));
  }
  SIM_EXPECT_OK(cuDevicePrimaryCtxReset(0));
  SIM_EXPECT_OK(cuDevicePrimaryCtxRelease(0));
  {
    const std::lock_guard<std::mutex> lock(functions_mutex);
    functions.clear();
  }
  EXPECT_EQ(simcudaMemoryUsed(0), 0);
  EXPECT_EQ(simcudaMemoryUsed(-1), 0);
}

Gate::Gate() {
  void* word = nullptr;
  EXPECT_EQ(cuMemHostAlloc(&word, sizeof(uint32_t), CU_MEMHOSTALLOC_PORTABLE), CUDA_SUCCESS);
  word_ = static_cast<uint32_t*>(word);
}

Gate::~Gate() { Open(); }

void Gate::Park(CUstream stream) {
  SIM_EXPECT_OK(cuStreamWaitValue32(stream, address(), 1, CU_STREAM_WAIT_VALUE_EQ));
}

void Gate::Open() { __atomic_store_n(word_, 1u, __ATOMIC_RELEASE); }

CUresult LaunchFunction(CUstream stream, std::function<void()> function) {
  auto owned = std::make_unique<std::function<void()>>(std::move(function));
  std::function<void()>* const raw = owned.get();
  {
    const std::lock_guard<std::mutex> lock(functions_mutex);
    functions.push_back(std::move(owned));
  }
  return cuLaunchHostFunc(
      stream, [](void* data) { (*static_cast<std::function<void()>*>(data))(); }, raw);
}

CUmemAllocationProp DeviceProp(int device) {
  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  return prop;
}

CUmemAllocationProp HostProp() {
  CUmemAllocationProp prop = DeviceProp();
  prop.location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
  return prop;
}

CUmemAccessDesc DeviceAccess(CUmemAccess_flags flags) {
  return {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, flags};
}

Chunk MapChunk(const CUmemAllocationProp& prop, size_t size) {
  Chunk chunk;
  chunk.size = size;
  const CUmemAccessDesc access = DeviceAccess();
  EXPECT_EQ(cuMemAddressReserve(&chunk.address, size, 0, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemCreate(&chunk.handle, size, &prop, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemMap(chunk.address, size, 0, chunk.handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemSetAccess(chunk.address, size, &access, 1), CUDA_SUCCESS);
  return chunk;
}

void UnmapChunk(const Chunk& chunk) {
  EXPECT_EQ(cuMemUnmap(chunk.address, chunk.size), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(chunk.handle), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(chunk.address, chunk.size), CUDA_SUCCESS);
}

bool Eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

void LetWorkersRun() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

}  // namespace simcuda
