// Plain allocations, limits, pools, and questions about pointers.

#include <cstring>
#include <set>

#include "tests/simcuda/sim_fixture.h"

namespace simcuda {
namespace {

class MemoryTest : public SimTest {};

TEST_F(MemoryTest, InfoFollowsTheAccount) {
  size_t free = 0;
  size_t total = 0;
  SIM_OK(cuMemGetInfo(&free, &total));
  EXPECT_EQ(total, 256 * kMiB);
  EXPECT_EQ(free, 240 * kMiB);  // less the context
  CUdeviceptr memory = 0;
  SIM_OK(cuMemAlloc(&memory, 100 * kMiB));
  size_t after = 0;
  SIM_OK(cuMemGetInfo(&after, nullptr));
  EXPECT_EQ(after, 140 * kMiB);
  SIM_OK(cuMemGetInfo(nullptr, &total));
  CUdeviceptr more = 0;
  EXPECT_EQ(cuMemAlloc(&more, 141 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
  SIM_OK(cuMemFree(memory));
  SIM_OK(cuMemGetInfo(&after, nullptr));
  EXPECT_EQ(after, free);
}

TEST_F(MemoryTest, ASecondContextTakesMemory) {
  size_t before = 0;
  size_t after = 0;
  SIM_OK(cuMemGetInfo(&before, nullptr));
  CUcontext second = nullptr;
  SIM_OK(cuCtxCreate(&second, nullptr, 0, 0));
  SIM_OK(cuMemGetInfo(&after, nullptr));
  EXPECT_EQ(before - after, 16 * kMiB);
  simcudaSetDeviceMemory(0, 40 * kMiB);
  CUcontext third = nullptr;
  EXPECT_EQ(cuCtxCreate(&third, nullptr, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
  SIM_OK(cuCtxDestroy(second));
}

TEST_F(MemoryTest, SmallAllocationsSharePages) {
  std::set<CUdeviceptr> addresses;
  for (int i = 0; i < 10000; ++i) {
    CUdeviceptr address = 0;
    SIM_OK(cuMemAlloc(&address, 100));
    EXPECT_EQ(address % 256, 0u);
    addresses.insert(address);
  }
  EXPECT_EQ(addresses.size(), 10000u);
  EXPECT_LE(simcudaMemoryUsed(0), static_cast<long long>(16 * kMiB + 6 * kMiB));
  for (const CUdeviceptr address : addresses) SIM_OK(cuMemFree(address));
  EXPECT_EQ(simcudaMemoryUsed(0), static_cast<long long>(16 * kMiB));
}

TEST_F(MemoryTest, WrongFrees) {
  CUdeviceptr address = 0;
  SIM_OK(cuMemAlloc(&address, 4096));
  EXPECT_EQ(cuMemFree(address + 256), CUDA_ERROR_INVALID_VALUE);
  SIM_OK(cuMemFree(address));
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
  SIM_EXPECT_OK(cuMemFree(0));
  EXPECT_EQ(cuMemAlloc(&address, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryTest, PageLockedMemory) {
  void* memory = nullptr;
  SIM_OK(cuMemHostAlloc(&memory, 1000, CU_MEMHOSTALLOC_PORTABLE));
  memset(memory, 1, 1000);
  CUdeviceptr device = 0;
  SIM_OK(cuMemHostGetDevicePointer(&device, memory, 0));
  EXPECT_EQ(device, reinterpret_cast<CUdeviceptr>(memory));
  unsigned flags = 0;
  SIM_OK(cuMemHostGetFlags(&flags, memory));
  EXPECT_NE(flags & CU_MEMHOSTALLOC_PORTABLE, 0u);
  EXPECT_EQ(cuMemFree(device), CUDA_ERROR_INVALID_VALUE);
  SIM_OK(cuMemFreeHost(memory));
  EXPECT_EQ(cuMemAllocHost(&memory, 300 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);

  std::vector<char> mine(8192);
  SIM_OK(cuMemHostRegister(mine.data(), mine.size(), 0));
  EXPECT_EQ(cuMemHostRegister(mine.data() + 1, 10, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  unsigned type = 0;
  SIM_OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                               reinterpret_cast<CUdeviceptr>(mine.data() + 77)));
  EXPECT_EQ(type, static_cast<unsigned>(CU_MEMORYTYPE_HOST));
  SIM_OK(cuMemHostUnregister(mine.data()));
  EXPECT_EQ(cuMemHostUnregister(mine.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

TEST_F(MemoryTest, ManagedMemory) {
  CUdeviceptr memory = 0;
  SIM_OK(cuMemAllocManaged(&memory, 4096, CU_MEM_ATTACH_GLOBAL));
  *reinterpret_cast<int*>(memory) = 5;
  unsigned managed = 0;
  SIM_OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, memory));
  EXPECT_EQ(managed, 1u);
  const CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  SIM_OK(cuMemPrefetchAsync(memory, 4096, location, 0, nullptr));
  SIM_OK(cuMemAdvise(memory, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, location));
  SIM_OK(cuMemFree(memory));

  SIM_OK(cuMemAlloc(&memory, 4096));
  EXPECT_EQ(cuMemPrefetchAsync(memory, 4096, location, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAdvise(memory, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, location),
            CUDA_ERROR_INVALID_VALUE);
}

template <typename T>
T Ask(CUpointer_attribute attribute, CUdeviceptr address) {
  T value{};
  EXPECT_EQ(cuPointerGetAttribute(&value, attribute, address), CUDA_SUCCESS);
  return value;
}

TEST_F(MemoryTest, PointerAttributesOfAnAllocation) {
  CUdeviceptr memory = 0;
  SIM_OK(cuMemAlloc(&memory, 5000));
  const CUdeviceptr inside = memory + 1234;
  EXPECT_EQ(Ask<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, inside),
            static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
  EXPECT_EQ(Ask<CUdeviceptr>(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, inside), inside);
  EXPECT_EQ(Ask<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, inside), memory);
  EXPECT_EQ(Ask<size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, inside), 5000u);
  EXPECT_EQ(Ask<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, inside), 0);
  EXPECT_EQ(Ask<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, inside), context_);
  CUdeviceptr base = 0;
  size_t size = 0;
  SIM_OK(cuMemGetAddressRange(&base, &size, inside));
  EXPECT_EQ(base, memory);
  EXPECT_EQ(size, 5000u);
  void* host = nullptr;
  EXPECT_EQ(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, inside),
            CUDA_ERROR_INVALID_VALUE);
}

// The real driver's answers for VMM chunks, the misleading ones too (measured).
TEST_F(MemoryTest, PointerAttributesOfChunks) {
  const Chunk device = MapChunk(DeviceProp());
  const Chunk host = MapChunk(HostProp());
  EXPECT_EQ(Ask<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device.address),
            static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
  EXPECT_EQ(Ask<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, host.address),
            static_cast<unsigned>(CU_MEMORYTYPE_HOST));
  CUdeviceptr base = 0;
  size_t size = 0;
  SIM_OK(cuMemGetAddressRange(&base, &size, device.address + 4096));
  EXPECT_EQ(base, device.address);
  EXPECT_EQ(size, kGranularity);
  SIM_OK(cuMemGetAddressRange(&base, &size, host.address + 4096));
  EXPECT_NE(base, host.address);
  EXPECT_EQ(size, kGranularity);
  EXPECT_EQ(Ask<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, host.address + 4096),
            host.address);
  void* pointer = nullptr;
  EXPECT_EQ(cuPointerGetAttribute(&pointer, CU_POINTER_ATTRIBUTE_HOST_POINTER, host.address),
            CUDA_ERROR_INVALID_VALUE);
  UnmapChunk(device);
  UnmapChunk(host);
  unsigned type = 0;
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, host.address),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryTest, PointerAttributesOfUnknownMemory) {
  int mine = 0;
  const auto address = reinterpret_cast<CUdeviceptr>(&mine);
  unsigned type = 77;
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address),
            CUDA_ERROR_INVALID_VALUE);
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                      CU_POINTER_ATTRIBUTE_HOST_POINTER};
  int ordinal = 77;
  CUdeviceptr host = 77;
  void* data[] = {&type, &ordinal, &host};
  SIM_OK(cuPointerGetAttributes(3, attributes, data, address));
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(ordinal, -2);
  EXPECT_EQ(host, address);
  CUdeviceptr base = 77;
  size_t size = 77;
  EXPECT_EQ(cuMemGetAddressRange(&base, &size, address), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(base, 0u);
  EXPECT_EQ(size, 0u);
}

TEST_F(MemoryTest, BlocksOfMemory) {
  CUdeviceptr small[2] = {}, large = 0;
  for (CUdeviceptr& s : small) SIM_OK(cuMemAlloc(&s, 1000));
  SIM_OK(cuMemAlloc(&large, 3 * kMiB));
  const auto block = [&](CUdeviceptr p) {
    return Ask<CUdeviceptr>(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, p);
  };
  const auto id = [&](CUdeviceptr p) {
    return Ask<unsigned long long>(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, p);
  };
  EXPECT_EQ(block(small[1]), block(small[0]));
  EXPECT_EQ(id(small[1]), id(small[0]));
  EXPECT_EQ(Ask<size_t>(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, small[1]), kGranularity);
  EXPECT_EQ(block(large + 2 * kMiB), large);
  EXPECT_NE(id(large), id(small[0]));
  EXPECT_EQ(Ask<size_t>(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, large), 2 * kGranularity);
}

TEST_F(MemoryTest, AnAllocationThatFailsWritesAllTheSame) {
  CUdeviceptr memory = 77;
  EXPECT_EQ(cuMemAlloc(&memory, size_t{1} << 50), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(memory, 0u);
  memory = 77;
  size_t pitch = 77;
  EXPECT_EQ(cuMemAllocPitch(&memory, &pitch, 513, size_t{1} << 40, 4), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(memory, 0u);
  EXPECT_EQ(pitch, 1024u);
  // The product is not looked after.
  EXPECT_EQ(cuMemAllocPitch(&memory, &pitch, size_t{1} << 62, 33, 4), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAllocPitch(&memory, &pitch, size_t{1} << 62, 4, 4), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryTest, InterprocessHandlesAreNotSupported) {
  CUdeviceptr memory = 0;
  CUipcMemHandle handle = {};
  SIM_OK(cuMemAlloc(&memory, 64));
  EXPECT_EQ(cuIpcGetMemHandle(&handle, memory), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuIpcGetMemHandle(&handle, 0x1000), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuIpcOpenMemHandle(&memory, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
            CUDA_ERROR_INVALID_VALUE);
}

class PoolTest : public SimTest {
 protected:
  void SetUp() override {
    SimTest::SetUp();
    SIM_OK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    SIM_OK(cuDeviceGetDefaultMemPool(&pool_, 0));
  }
  uint64_t Used() {
    cuuint64_t used = 0;
    EXPECT_EQ(cuMemPoolGetAttribute(pool_, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used), CUDA_SUCCESS);
    return used;
  }
  uint64_t Reserved() {
    cuuint64_t reserved = 0;
    EXPECT_EQ(cuMemPoolGetAttribute(pool_, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved),
              CUDA_SUCCESS);
    return reserved;
  }

  CUstream stream_ = nullptr;
  CUmemoryPool pool_ = nullptr;
};

TEST_F(PoolTest, FreesAreStreamOrdered) {
  CUdeviceptr memory = 0;
  SIM_OK(cuMemAllocAsync(&memory, 10 * kMiB, stream_));
  EXPECT_EQ(Used(), 10 * kMiB);
  {
    Gate gate;
    gate.Park(stream_);
    SIM_OK(cuMemsetD8Async(memory, 1, 10 * kMiB, stream_));
    SIM_OK(cuMemFreeAsync(memory, stream_));
    EXPECT_EQ(cuMemFreeAsync(memory, stream_), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(Used(), 10 * kMiB);
  }
  SIM_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(Used(), 0u);
  EXPECT_EQ(Reserved(), 0u);
}

// The same stream may have freed memory again at once; another stream may not.
TEST_F(PoolTest, AStreamReusesWhatItFreed) {
  CUstream other = nullptr;
  SIM_OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CUdeviceptr memory = 0;
  CUdeviceptr again = 0;
  CUdeviceptr elsewhere = 0;
  SIM_OK(cuMemAllocAsync(&memory, 100 * kMiB, stream_));
  {
    Gate gate;
    gate.Park(stream_);
    SIM_OK(cuMemFreeAsync(memory, stream_));
    SIM_OK(cuMemAllocAsync(&elsewhere, 100 * kMiB, other));
    EXPECT_NE(elsewhere, memory);
    SIM_OK(cuMemAllocAsync(&again, 100 * kMiB, stream_));
    EXPECT_EQ(again, memory);
    CUdeviceptr none = 0;
    EXPECT_EQ(cuMemAllocAsync(&none, 100 * kMiB, other), CUDA_ERROR_OUT_OF_MEMORY);
  }
  SIM_OK(cuMemsetD8Async(again, 1, 100 * kMiB, stream_));
  SIM_OK(cuMemFreeAsync(again, stream_));
  SIM_OK(cuMemFree(elsewhere));
  SIM_OK(cuStreamSynchronize(stream_));
}

TEST_F(PoolTest, TheThresholdKeepsMemory) {
  cuuint64_t threshold = UINT64_MAX;
  SIM_OK(cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  CUdeviceptr memory = 0;
  SIM_OK(cuMemAllocAsync(&memory, 10 * kMiB, stream_));
  SIM_OK(cuMemFreeAsync(memory, stream_));
  SIM_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(Used(), 0u);
  EXPECT_EQ(Reserved(), 32 * kMiB);  // Told in steps, as CuPy expects of the driver.
  SIM_OK(cuMemPoolTrimTo(pool_, 0));
  EXPECT_EQ(Reserved(), 0u);
  threshold = 0;
  SIM_OK(cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
}

TEST_F(PoolTest, PoolsOfTheProgram) {
  CUmemPoolProps props = {};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemoryPool pool = nullptr;
  SIM_OK(cuMemPoolCreate(&pool, &props));
  SIM_OK(cuDeviceSetMemPool(0, pool));
  CUmemoryPool current = nullptr;
  SIM_OK(cuDeviceGetMemPool(&current, 0));
  EXPECT_EQ(current, pool);
  CUdeviceptr memory = 0;
  SIM_OK(cuMemAllocFromPoolAsync(&memory, 64, pool, stream_));
  CUmemoryPool asked = nullptr;
  SIM_OK(cuPointerGetAttribute(&asked, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, memory));
  EXPECT_EQ(asked, pool);
  SIM_OK(cuMemPoolDestroy(pool));
  EXPECT_EQ(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
  SIM_OK(cuMemsetD8Async(memory, 1, 64, stream_));
  SIM_OK(cuMemFreeAsync(memory, stream_));
  SIM_OK(cuStreamSynchronize(stream_));
  SIM_OK(cuDeviceGetMemPool(&current, 0));
  EXPECT_EQ(current, pool_);
  EXPECT_EQ(cuMemPoolDestroy(pool_), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace simcuda
