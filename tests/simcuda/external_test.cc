// Memory of others that a context takes over by a file descriptor.

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "tests/simcuda/sim_fixture.h"

namespace simcuda {
namespace {

class ExternalTest : public SimTest {
 protected:
  static constexpr size_t kSize = 2 * kGranularity;

  // What another API would have exported.
  static int Exported(CUmemAllocationProp prop = DeviceProp()) {
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemGenericAllocationHandle handle = 0;
    int fd = -1;
    EXPECT_EQ(cuMemCreate(&handle, kSize, &prop, 0), CUDA_SUCCESS);
    EXPECT_EQ(
        cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        CUDA_SUCCESS);
    owner_ = handle;
    return fd;
  }
  static CUDA_EXTERNAL_MEMORY_HANDLE_DESC Descriptor(int fd, size_t size = kSize) {
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC d = {};
    d.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    d.handle.fd = fd;
    d.size = size;
    return d;
  }
  static CUexternalMemory Import(int fd) {
    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC d = Descriptor(fd);
    CUexternalMemory memory = nullptr;
    EXPECT_EQ(cuImportExternalMemory(&memory, &d), CUDA_SUCCESS);
    return memory;
  }
  static CUdeviceptr Buffer(CUexternalMemory memory, size_t offset, size_t size) {
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC d = {};
    d.offset = offset;
    d.size = size;
    CUdeviceptr buffer = 0;
    EXPECT_EQ(cuExternalMemoryGetMappedBuffer(&buffer, memory, &d), CUDA_SUCCESS);
    return buffer;
  }
  static unsigned WordAt(CUdeviceptr address) {
    unsigned word = 0;
    EXPECT_EQ(cuMemcpyDtoH(&word, address, sizeof(word)), CUDA_SUCCESS);
    return word;
  }

  static inline CUmemGenericAllocationHandle owner_ = 0;
};

TEST_F(ExternalTest, BuffersAreOfTheSameMemory) {
  const CUexternalMemory memory = Import(Exported());
  const CUdeviceptr whole = Buffer(memory, 0, kSize), part = Buffer(memory, 12344, 100);
  SIM_OK(cuMemsetD32(whole, 7, kSize / 4));
  SIM_OK(cuMemsetD32(part, 9, 25));
  EXPECT_EQ(WordAt(whole + 12340), 7u);
  EXPECT_EQ(WordAt(whole + 12344), 9u);
  EXPECT_EQ(WordAt(whole + 12444), 7u);
  EXPECT_EQ(cuMemsetD32(part, 1, 26), CUDA_ERROR_INVALID_VALUE) << "beyond the buffer";
  CUdeviceptr base = 0;
  size_t size = 0;
  SIM_OK(cuMemGetAddressRange(&base, &size, part + 50));
  EXPECT_EQ(base, part);
  EXPECT_EQ(size, 100u);
  unsigned type = 0;
  SIM_OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, part));
  EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_DEVICE});
  SIM_OK(cuMemFree(part));
  EXPECT_EQ(cuMemFree(part), CUDA_ERROR_INVALID_VALUE);
  SIM_OK(cuMemFree(whole));
  SIM_OK(cuDestroyExternalMemory(memory));
  SIM_OK(cuMemRelease(owner_));
}

// The device's memory is taken until the last that holds it lets go.
TEST_F(ExternalTest, MemoryLastsAsLongAsAnyoneHoldsIt) {
  const long long before = simcudaMemoryUsed(0);
  const CUexternalMemory memory = Import(Exported());
  EXPECT_EQ(simcudaMemoryUsed(0), before + static_cast<long long>(kSize)) << "counted once";
  SIM_OK(cuMemRelease(owner_));
  const CUdeviceptr buffer = Buffer(memory, 0, kSize);
  SIM_OK(cuMemsetD32(buffer, 5, 1));
  EXPECT_EQ(simcudaMemoryUsed(0), before + static_cast<long long>(kSize));
  SIM_OK(cuDestroyExternalMemory(memory));
  EXPECT_EQ(WordAt(buffer), 5u);
  EXPECT_EQ(simcudaMemoryUsed(0), before + static_cast<long long>(kSize));
  SIM_OK(cuMemFree(buffer));
  EXPECT_EQ(simcudaMemoryUsed(0), before);
}

// As a handle that comes back by its descriptor.
TEST_F(ExternalTest, AHandleThatComesBackHoldsItToo) {
  const long long before = simcudaMemoryUsed(0);
  const int fd = Exported();
  CUmemGenericAllocationHandle again = 0;
  SIM_OK(cuMemImportFromShareableHandle(&again, reinterpret_cast<void*>(static_cast<intptr_t>(fd)),
                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  SIM_OK(cuMemRelease(owner_));
  EXPECT_EQ(simcudaMemoryUsed(0), before + static_cast<long long>(kSize));
  SIM_OK(cuMemRelease(again));
  EXPECT_EQ(simcudaMemoryUsed(0), before);
  EXPECT_EQ(close(fd), 0) << "that one leaves the descriptor to the program";
}

TEST_F(ExternalTest, TheDescriptorIsTakenWhereItSucceeds) {
  const int fd = Exported();
  const CUDA_EXTERNAL_MEMORY_HANDLE_DESC larger = Descriptor(fd, kSize + 1);
  CUexternalMemory memory = nullptr;
  EXPECT_EQ(cuImportExternalMemory(&memory, &larger), CUDA_ERROR_INVALID_VALUE);
  EXPECT_NE(fcntl(fd, F_GETFD), -1);
  memory = Import(fd);
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
  SIM_OK(cuDestroyExternalMemory(memory));
  SIM_OK(cuMemRelease(owner_));
}

TEST_F(ExternalTest, WhatIsRefused) {
  const int fd = Exported();
  CUexternalMemory memory = nullptr;
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC d = Descriptor(fd, 0);
  EXPECT_EQ(cuImportExternalMemory(&memory, &d), CUDA_ERROR_INVALID_VALUE);
  d = Descriptor(fd);
  d.flags = 2;
  EXPECT_EQ(cuImportExternalMemory(&memory, &d), CUDA_ERROR_INVALID_VALUE);
  d = Descriptor(fd);
  d.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32;
  EXPECT_EQ(cuImportExternalMemory(&memory, &d), CUDA_ERROR_NOT_SUPPORTED);
  d = Descriptor(-1);
  EXPECT_EQ(cuImportExternalMemory(&memory, &d), CUDA_ERROR_INVALID_HANDLE);
  d = Descriptor(STDERR_FILENO);
  EXPECT_EQ(cuImportExternalMemory(&memory, &d), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuImportExternalMemory(&memory, nullptr), CUDA_ERROR_INVALID_VALUE);
  memory = Import(fd);
  const auto buffer = [&](size_t offset, size_t size, unsigned flags) {
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC b = {};
    b.offset = offset;
    b.size = size;
    b.flags = flags;
    CUdeviceptr address = 0;
    return cuExternalMemoryGetMappedBuffer(&address, memory, &b);
  };
  EXPECT_EQ(buffer(0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(buffer(1, kSize, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(buffer(~size_t{0}, 2, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(buffer(0, 1, 1), CUDA_ERROR_INVALID_VALUE);
  SIM_OK(cuDestroyExternalMemory(memory));
  EXPECT_EQ(buffer(0, 1, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuDestroyExternalMemory(memory), CUDA_ERROR_INVALID_HANDLE);
  SIM_OK(cuMemRelease(owner_));
  const int host = Exported(HostProp());
  d = Descriptor(host);
  EXPECT_EQ(cuImportExternalMemory(&memory, &d), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(close(host), 0);
  SIM_OK(cuMemRelease(owner_));
}

// The fixture sees that nothing is left of the memory.
TEST_F(ExternalTest, GoesWithItsContext) {
  CUcontext other = nullptr;
  SIM_OK(cuCtxCreate(&other, nullptr, 0, 0));
  const CUexternalMemory memory = Import(Exported());
  Buffer(memory, 0, kSize);
  SIM_OK(cuMemRelease(owner_));
  SIM_OK(cuCtxDestroy(other));
  SIM_OK(cuCtxSetCurrent(context_));
  EXPECT_EQ(cuDestroyExternalMemory(memory), CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace
}  // namespace simcuda
