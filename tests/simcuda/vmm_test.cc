// The rules of virtual memory management, as measured on an H100.

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "tests/simcuda/sim_fixture.h"

namespace simcuda {
namespace {

class VmmTest : public SimTest {
 protected:
  // Whether a process without rights may make large pages of small ones (Linux 6.1).
  static bool SystemGathersPages() {
    const int file = memfd_create("probe", MFD_CLOEXEC);
    if (ftruncate(file, kGranularity) != 0) return false;
    const size_t room = 2 * kGranularity;
    void* const at = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const uintptr_t base = (reinterpret_cast<uintptr_t>(at) + kGranularity - 1) & -kGranularity;
    auto* const page =
        static_cast<char*>(mmap(reinterpret_cast<void*>(base), kGranularity, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_FIXED, file, 0));
    *page = 1;
    constexpr int kCollapse = 25;
    const bool gathers = madvise(page, kGranularity, kCollapse) == 0;
    munmap(at, room);
    close(file);
    return gathers;
  }

  // How much of the mapping at the address is behind large pages.
  static size_t LargePageBytes(CUdeviceptr address) {
    std::ifstream maps("/proc/self/smaps");
    bool here = false;
    for (std::string line; std::getline(maps, line);) {
      unsigned long long first = 0;
      unsigned long long last = 0;
      size_t kilobytes = 0;
      if (sscanf(line.c_str(), "%llx-%llx ", &first, &last) == 2) {
        here = first <= address && address < last;
      } else if (here && sscanf(line.c_str(), "ShmemPmdMapped: %zu kB", &kilobytes) == 1) {
        return kilobytes << 10;
      }
    }
    return 0;
  }
};

TEST_F(VmmTest, GranularityIsTwoMebibytesEverywhere) {
  for (const CUmemLocationType type :
       {CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_LOCATION_TYPE_HOST_NUMA, CU_MEM_LOCATION_TYPE_HOST}) {
    CUmemAllocationProp prop = DeviceProp();
    prop.location.type = type;
    size_t least = 0;
    size_t best = 0;
    SIM_OK(cuMemGetAllocationGranularity(&least, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    SIM_OK(cuMemGetAllocationGranularity(&best, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    EXPECT_EQ(least, kGranularity);
    EXPECT_EQ(best, kGranularity);
  }
}

TEST_F(VmmTest, SizesMustBeMultiplesOfTheGranularity) {
  const CUmemAllocationProp prop = DeviceProp();
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemCreate(&handle, kMiB, &prop, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemCreate(&handle, 0, &prop, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressReserve(&address, kMiB, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressReserve(&address, kGranularity, 3 * kMiB, 0, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(VmmTest, PartialAndOffsetMapsAreNotSupported) {
  for (const CUmemAllocationProp& prop : {DeviceProp(), HostProp()}) {
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr address = 0;
    SIM_OK(cuMemCreate(&handle, 4 * kGranularity, &prop, 0));
    SIM_OK(cuMemAddressReserve(&address, 4 * kGranularity, 0, 0, 0));
    EXPECT_EQ(cuMemMap(address, kGranularity, 0, handle, 0), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(cuMemMap(address, kGranularity, kGranularity, handle, 0), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(cuMemMap(address, 8 * kGranularity, 0, handle, 0), CUDA_ERROR_NOT_SUPPORTED);
    SIM_EXPECT_OK(cuMemRelease(handle));
    SIM_EXPECT_OK(cuMemAddressFree(address, 4 * kGranularity));
  }
}

TEST_F(VmmTest, MapOverAMappedRangeFails) {
  const Chunk chunk = MapChunk(DeviceProp());
  EXPECT_EQ(cuMemMap(chunk.address, chunk.size, 0, chunk.handle, 0), CUDA_ERROR_INVALID_VALUE);
  UnmapChunk(chunk);
}

TEST_F(VmmTest, MapOutsideAReservationFails) {
  const CUmemAllocationProp prop = DeviceProp();
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
  SIM_OK(cuMemCreate(&handle, 2 * kGranularity, &prop, 0));
  SIM_OK(cuMemAddressReserve(&address, 2 * kGranularity, 0, 0, 0));
  EXPECT_EQ(cuMemMap(address + kGranularity, 2 * kGranularity, 0, handle, 0),
            CUDA_ERROR_INVALID_VALUE);
  SIM_EXPECT_OK(cuMemAddressFree(address, 2 * kGranularity));
  EXPECT_EQ(cuMemMap(address, 2 * kGranularity, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  SIM_EXPECT_OK(cuMemRelease(handle));
}

TEST_F(VmmTest, AccessNeedsAMapping) {
  CUdeviceptr address = 0;
  const CUmemAccessDesc access = DeviceAccess();
  SIM_OK(cuMemAddressReserve(&address, kGranularity, 0, 0, 0));
  EXPECT_EQ(cuMemSetAccess(address, kGranularity, &access, 1), CUDA_ERROR_INVALID_VALUE);
  SIM_EXPECT_OK(cuMemAddressFree(address, kGranularity));
}

// One span of mixed chunks: one access call and one unmap call for all.
TEST_F(VmmTest, AccessAndUnmapSpanManyMappings) {
  constexpr size_t kCount = 8;
  CUdeviceptr base = 0;
  const CUmemAccessDesc access = DeviceAccess();
  SIM_OK(cuMemAddressReserve(&base, kCount * kGranularity, 0, 0, 0));
  std::vector<CUmemGenericAllocationHandle> handles(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    const CUmemAllocationProp prop = i % 2 == 0 ? DeviceProp() : HostProp();
    SIM_OK(cuMemCreate(&handles[i], kGranularity, &prop, 0));
    SIM_OK(cuMemMap(base + i * kGranularity, kGranularity, 0, handles[i], 0));
  }
  SIM_OK(cuMemSetAccess(base, kCount * kGranularity, &access, 1));
  SIM_OK(cuMemsetD8(base, 0x5A, kCount * kGranularity));
  std::vector<unsigned char> bytes(kCount * kGranularity);
  SIM_OK(cuMemcpyDtoH(bytes.data(), base, bytes.size()));
  EXPECT_EQ(bytes, std::vector<unsigned char>(bytes.size(), 0x5A));

  EXPECT_EQ(cuMemUnmap(base + kMiB, kGranularity), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemUnmap(base, kMiB), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressFree(base, kCount * kGranularity), CUDA_ERROR_INVALID_VALUE);
  SIM_OK(cuMemUnmap(base, kCount * kGranularity));
  // Nothing is mapped, and that is no error inside a reservation.
  SIM_OK(cuMemUnmap(base, kGranularity));
  EXPECT_EQ(cuMemUnmap(base, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemUnmap(base, (kCount + 1) * kGranularity), CUDA_ERROR_INVALID_VALUE);
  for (const auto handle : handles) SIM_EXPECT_OK(cuMemRelease(handle));
  EXPECT_EQ(cuMemAddressFree(base, kGranularity), CUDA_ERROR_INVALID_VALUE);
  SIM_EXPECT_OK(cuMemAddressFree(base, kCount * kGranularity));
}

TEST_F(VmmTest, AliasesShareTheirBytes) {
  const Chunk chunk = MapChunk(HostProp());
  const CUmemAccessDesc access = DeviceAccess();
  CUdeviceptr alias = 0;
  SIM_OK(cuMemAddressReserve(&alias, kGranularity, 0, 0, 0));
  SIM_OK(cuMemMap(alias, kGranularity, 0, chunk.handle, 0));
  SIM_OK(cuMemSetAccess(alias, kGranularity, &access, 1));
  SIM_OK(cuMemsetD32(chunk.address, 1234567, 16));
  unsigned word = 0;
  SIM_OK(cuMemcpyDtoH(&word, alias + 60, sizeof(word)));
  EXPECT_EQ(word, 1234567u);
  SIM_EXPECT_OK(cuMemUnmap(alias, kGranularity));
  SIM_EXPECT_OK(cuMemAddressFree(alias, kGranularity));
  UnmapChunk(chunk);
}

// The whole point of the product: other memory at the same address.
TEST_F(VmmTest, RemapChangesWhatIsBehindAnAddress) {
  const Chunk chunk = MapChunk(DeviceProp());
  const CUmemAllocationProp host = HostProp();
  const CUmemAccessDesc access = DeviceAccess();
  CUmemGenericAllocationHandle other = 0;
  SIM_OK(cuMemCreate(&other, kGranularity, &host, 0));
  SIM_OK(cuMemsetD8(chunk.address, 7, kGranularity));
  SIM_OK(cuCtxSynchronize());  // a fill does not wait, nor does an unmap
  SIM_OK(cuMemUnmap(chunk.address, kGranularity));
  SIM_OK(cuMemMap(chunk.address, kGranularity, 0, other, 0));
  SIM_OK(cuMemSetAccess(chunk.address, kGranularity, &access, 1));
  SIM_OK(cuMemsetD8(chunk.address, 8, kGranularity));
  unsigned char byte = 1;
  SIM_OK(cuMemcpyDtoH(&byte, chunk.address + 99, 1));
  EXPECT_EQ(byte, 8);
  SIM_OK(cuMemUnmap(chunk.address, kGranularity));
  SIM_OK(cuMemMap(chunk.address, kGranularity, 0, chunk.handle, 0));
  SIM_OK(cuMemSetAccess(chunk.address, kGranularity, &access, 1));
  SIM_OK(cuMemcpyDtoH(&byte, chunk.address + 99, 1));
  EXPECT_EQ(byte, 7);
  SIM_EXPECT_OK(cuMemRelease(other));
  UnmapChunk(chunk);
}

TEST_F(VmmTest, ReleasedMemoryThatIsMappedStaysAndCounts) {
  const Chunk chunk = MapChunk(DeviceProp());
  const long long used = simcudaMemoryUsed(0);
  SIM_OK(cuMemRelease(chunk.handle));
  EXPECT_EQ(simcudaMemoryUsed(0), used);
  SIM_OK(cuMemsetD8(chunk.address, 1, kGranularity));
  SIM_OK(cuCtxSynchronize());
  EXPECT_EQ(cuMemRelease(chunk.handle), CUDA_ERROR_INVALID_VALUE);
  SIM_OK(cuMemUnmap(chunk.address, kGranularity));
  EXPECT_EQ(simcudaMemoryUsed(0), used - static_cast<long long>(kGranularity));
  SIM_EXPECT_OK(cuMemAddressFree(chunk.address, kGranularity));
}

TEST_F(VmmTest, RetainGivesTheHandleBehindAnAddress) {
  const Chunk chunk = MapChunk(HostProp());
  CUmemGenericAllocationHandle again = 0;
  SIM_OK(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(chunk.address + 5)));
  EXPECT_EQ(again, chunk.handle);
  CUmemAllocationProp prop = {};
  SIM_OK(cuMemGetAllocationPropertiesFromHandle(&prop, again));
  EXPECT_EQ(prop.location.type, CU_MEM_LOCATION_TYPE_HOST_NUMA);
  SIM_OK(cuMemRelease(again));
  UnmapChunk(chunk);
}

TEST_F(VmmTest, AccessRightsAreRemembered) {
  const Chunk chunk = MapChunk(DeviceProp());
  CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemLocation other = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
  unsigned long long flags = 99;
  SIM_OK(cuMemGetAccess(&flags, &device, chunk.address));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  SIM_OK(cuMemGetAccess(&flags, &other, chunk.address));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  // The host may be given access to host chunks only.
  const CUmemAccessDesc host = {{CU_MEM_LOCATION_TYPE_HOST_NUMA, 0},
                                CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  EXPECT_EQ(cuMemSetAccess(chunk.address, kGranularity, &host, 1), CUDA_ERROR_NOT_SUPPORTED);
  UnmapChunk(chunk);
  // Of plain memory they are known too.
  CUdeviceptr plain = 0;
  SIM_OK(cuMemAlloc(&plain, 64));
  SIM_OK(cuMemGetAccess(&flags, &device, plain + 63));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  SIM_OK(cuMemGetAccess(&flags, &other, plain));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  SIM_OK(cuMemFree(plain));
}

TEST_F(VmmTest, ReservationsAreLargeFixedAndAligned) {
#if !defined(__SANITIZE_THREAD__)  // its shadow memory ends long before
  for (const int bits : {38, 40, 42}) {
    CUdeviceptr address = 0;
    SIM_OK(cuMemAddressReserve(&address, size_t{1} << bits, 0, 0, 0));
    SIM_EXPECT_OK(cuMemAddressFree(address, size_t{1} << bits));
  }
#endif
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAddressReserve(&address, size_t{1} << 47, 0, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);

  SIM_OK(cuMemAddressReserve(&address, 4 * kGranularity, 0, 0, 0));
  EXPECT_EQ(address % kGranularity, 0u);
  SIM_OK(cuMemAddressFree(address, 4 * kGranularity));
  CUdeviceptr again = 0;
  SIM_OK(cuMemAddressReserve(&again, 4 * kGranularity, 0, address, 0));
  EXPECT_EQ(again, address);
  // Taken: another place is found.
  CUdeviceptr third = 0;
  SIM_OK(cuMemAddressReserve(&third, 4 * kGranularity, 64 * kMiB, address, 0));
  EXPECT_NE(third, address);
  EXPECT_EQ(third % (64 * kMiB), 0u);
  SIM_EXPECT_OK(cuMemAddressFree(again, 4 * kGranularity));
  SIM_EXPECT_OK(cuMemAddressFree(third, 4 * kGranularity));
}

TEST_F(VmmTest, CreateCountsAgainstTheLimits) {
  const CUmemAllocationProp device = DeviceProp();
  const CUmemAllocationProp host = HostProp();
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(cuMemCreate(&handle, 256 * kMiB, &device, 0), CUDA_ERROR_OUT_OF_MEMORY);
  SIM_OK(cuMemCreate(&handle, 200 * kMiB, &device, 0));
  CUmemGenericAllocationHandle second = 0;
  EXPECT_EQ(cuMemCreate(&second, 100 * kMiB, &device, 0), CUDA_ERROR_OUT_OF_MEMORY);
  SIM_OK(cuMemRelease(handle));
  EXPECT_EQ(cuMemCreate(&second, 300 * kMiB, &host, 0), CUDA_ERROR_OUT_OF_MEMORY);
  simcudaSetHostMemory(400 * kMiB);
  SIM_OK(cuMemCreate(&second, 300 * kMiB, &host, 0));
  SIM_EXPECT_OK(cuMemRelease(second));
}

// Moves would be slow where each small page costs a fault that a hypervisor sees.
TEST_F(VmmTest, WhatIsMappedAgainGetsLargePages) {
  if (!SystemGathersPages()) GTEST_SKIP() << "needs Linux 6.1 with large pages";
  CUmemAllocationProp prop = DeviceProp();
  // Root would have large pages from the start otherwise.
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const CUmemAccessDesc access = DeviceAccess();
  const Chunk chunk = MapChunk(prop);
  SIM_OK(cuMemsetD8(chunk.address, 42, kGranularity));
  SIM_OK(cuCtxSynchronize());
  SIM_OK(cuMemUnmap(chunk.address, kGranularity));
  SIM_OK(cuMemMap(chunk.address, kGranularity, 0, chunk.handle, 0));
  SIM_OK(cuMemSetAccess(chunk.address, kGranularity, &access, 1));
  unsigned char last = 0;
  SIM_OK(cuMemcpyDtoH(&last, chunk.address + kGranularity - 1, 1));
  EXPECT_EQ(last, 42);
  EXPECT_EQ(LargePageBytes(chunk.address), kGranularity);
  UnmapChunk(chunk);
}

TEST_F(VmmTest, WrongPropertiesAreRefused) {
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp prop = DeviceProp(7);
  EXPECT_EQ(cuMemCreate(&handle, kGranularity, &prop, 0), CUDA_ERROR_INVALID_DEVICE);
  prop = HostProp();
  prop.location.id = 5;
  EXPECT_EQ(cuMemCreate(&handle, kGranularity, &prop, 0), CUDA_ERROR_INVALID_VALUE);
  prop = DeviceProp();
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
  EXPECT_EQ(cuMemCreate(&handle, kGranularity, &prop, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuMemCreate(&handle, kGranularity, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

// No VMM call waits for GPU work.
TEST_F(VmmTest, CallsReturnWhileAStreamIsParked) {
  CUstream stream = nullptr;
  SIM_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  Gate gate;
  gate.Park(stream);
  const Chunk chunk = MapChunk(DeviceProp());
  UnmapChunk(chunk);
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  gate.Open();
  SIM_OK(cuStreamSynchronize(stream));
}

// Remapping memory that queued work does not touch leaves that work alone, and what it does touch
// may be remapped while the work is held.
TEST_F(VmmTest, HeldWorkSeesTheMappingOfItsStart) {
  const Chunk chunk = MapChunk(DeviceProp());
  const CUmemAllocationProp host = HostProp();
  const CUmemAccessDesc access = DeviceAccess();
  CUmemGenericAllocationHandle other = 0;
  SIM_OK(cuMemCreate(&other, kGranularity, &host, 0));
  CUstream stream = nullptr;
  SIM_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  Gate gate;
  gate.Park(stream);
  SIM_OK(cuMemsetD8Async(chunk.address, 42, kGranularity, stream));
  SIM_OK(cuMemUnmap(chunk.address, kGranularity));
  SIM_OK(cuMemMap(chunk.address, kGranularity, 0, other, 0));
  SIM_OK(cuMemSetAccess(chunk.address, kGranularity, &access, 1));
  gate.Open();
  SIM_OK(cuStreamSynchronize(stream));
  unsigned char byte = 0;
  SIM_OK(cuMemcpyDtoH(&byte, chunk.address, 1));
  EXPECT_EQ(byte, 42);
  SIM_OK(cuMemUnmap(chunk.address, kGranularity));
  SIM_EXPECT_OK(cuMemRelease(other));
  SIM_EXPECT_OK(cuMemRelease(chunk.handle));
  SIM_EXPECT_OK(cuMemAddressFree(chunk.address, kGranularity));
}

}  // namespace
}  // namespace simcuda
