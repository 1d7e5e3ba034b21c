// Exported names and cuGetProcAddress.

#include <dlfcn.h>

#include <string>

#include "tests/simcuda/sim_fixture.h"

namespace simcuda {
namespace {

class EntryTest : public SimTest {
 protected:
  static void* Symbol(const char* name) { return dlsym(RTLD_DEFAULT, name); }

  static void* Resolve(const char* name, int version, cuuint64_t flags = 0,
                       CUdriverProcAddressQueryResult wanted = CU_GET_PROC_ADDRESS_SUCCESS) {
    void* found = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    EXPECT_EQ(cuGetProcAddress(name, &found, version, flags, &status), CUDA_SUCCESS) << name;
    EXPECT_EQ(status, wanted) << name;
    return found;
  }
};

TEST_F(EntryTest, EveryRowIsExported) {
  unsigned index = 0;
  for (; simcudaEntrySymbol(index) != nullptr; ++index) {
    EXPECT_NE(Symbol(simcudaEntrySymbol(index)), nullptr) << simcudaEntrySymbol(index);
  }
  EXPECT_GT(index, 200u);
}

TEST_F(EntryTest, TheNewestAbiThatTheVersionKnows) {
  EXPECT_EQ(Resolve("cuCtxCreate", 4000), Symbol("cuCtxCreate_v2"));
  EXPECT_EQ(Resolve("cuCtxCreate", 11040), Symbol("cuCtxCreate_v3"));
  EXPECT_EQ(Resolve("cuCtxCreate", 13000), Symbol("cuCtxCreate_v4"));
  EXPECT_EQ(Resolve("cuMemAlloc", 12000), Symbol("cuMemAlloc_v2"));
  EXPECT_EQ(Resolve("cuGetProcAddress", 11030), Symbol("cuGetProcAddress"));
  EXPECT_EQ(Resolve("cuGetProcAddress", 12000), Symbol("cuGetProcAddress_v2"));
  EXPECT_EQ(Resolve("cuMemcpyBatchAsync", 12080), Symbol("cuMemcpyBatchAsync"));
  EXPECT_EQ(Resolve("cuMemcpyBatchAsync", 13000), Symbol("cuMemcpyBatchAsync_v2"));
}

TEST_F(EntryTest, ThePerThreadFlagSelectsPerThreadVariants) {
  const cuuint64_t per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  const cuuint64_t legacy = CU_GET_PROC_ADDRESS_LEGACY_STREAM;
  EXPECT_EQ(Resolve("cuMemcpyAsync", 13000, per_thread), Symbol("cuMemcpyAsync_ptsz"));
  EXPECT_EQ(Resolve("cuMemcpyAsync", 13000, legacy), Symbol("cuMemcpyAsync"));
  EXPECT_EQ(Resolve("cuMemcpyAsync", 13000), Symbol("cuMemcpyAsync"));
  EXPECT_EQ(Resolve("cuMemcpyHtoD", 13000, per_thread), Symbol("cuMemcpyHtoD_v2_ptds"));
  // Where there is no per-thread variant, the plain function.
  EXPECT_EQ(Resolve("cuMemAlloc", 13000, per_thread), Symbol("cuMemAlloc_v2"));
}

TEST_F(EntryTest, WhatIsNotThere) {
  EXPECT_EQ(Resolve("cuNoSuchThing", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND), nullptr);
  EXPECT_EQ(Resolve("cuMemAlloc_v2", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND), nullptr);
  EXPECT_EQ(Resolve("cuMemCreate", 9000, 0, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT), nullptr);
  void* found = nullptr;
  EXPECT_EQ(cuGetProcAddress("cuInit", &found, 99000, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGetProcAddress("cuInit", &found, 13000, 64, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGetProcAddress(nullptr, &found, 13000, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  using V1 = CUresult (*)(const char*, void**, int, cuuint64_t);
  const auto v1 = reinterpret_cast<V1>(Symbol("cuGetProcAddress"));
  EXPECT_EQ(v1("cuNoSuchThing", &found, 12000, 0), CUDA_ERROR_NOT_FOUND);
}

TEST_F(EntryTest, Errors) {
  const char* text = nullptr;
  SIM_OK(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_OUT_OF_MEMORY");
  SIM_OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(cuGetErrorName(static_cast<CUresult>(123456), &text), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(EntryTest, Devices) {
  int version = 0;
  SIM_OK(cuDriverGetVersion(&version));
  EXPECT_EQ(version, 13000);
  int count = 0;
  SIM_OK(cuDeviceGetCount(&count));
  EXPECT_EQ(count, 2);
  CUdevice device = -1;
  SIM_OK(cuDeviceGet(&device, 1));
  EXPECT_EQ(cuDeviceGet(&device, 2), CUDA_ERROR_INVALID_DEVICE);
  char name[64];
  SIM_OK(cuDeviceGetName(name, sizeof(name), device));
  EXPECT_STREQ(name, "simcuda device 1");
  CUuuid one = {};
  CUuuid zero = {};
  SIM_OK(cuDeviceGetUuid(&one, 1));
  SIM_OK(cuDeviceGetUuid(&zero, 0));
  EXPECT_NE(std::string(one.bytes, 16), std::string(zero.bytes, 16));
  size_t total = 0;
  SIM_OK(cuDeviceTotalMem(&total, 0));
  EXPECT_EQ(total, 256 * kMiB);
  int value = 0;
  SIM_OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
  EXPECT_EQ(value, 9);
  SIM_OK(cuDeviceGetAttribute(
      &value, CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
  EXPECT_EQ(value, 1);
  char bus[16];
  SIM_OK(cuDeviceGetPCIBusId(bus, sizeof(bus), 1));
  SIM_OK(cuDeviceGetByPCIBusId(&device, bus));
  EXPECT_EQ(device, 1);
  int can = 0;
  SIM_OK(cuDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1);
}

class ContextTest : public SimTest {};

TEST_F(ContextTest, StackOfAThread) {
  CUcontext second = nullptr;
  CUcontext current = nullptr;
  SIM_OK(cuCtxCreate(&second, nullptr, CU_CTX_SCHED_YIELD, 1));
  SIM_OK(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, second);
  CUdevice device = -1;
  SIM_OK(cuCtxGetDevice(&device));
  EXPECT_EQ(device, 1);
  unsigned flags = 0;
  SIM_OK(cuCtxGetFlags(&flags));
  EXPECT_EQ(flags, static_cast<unsigned>(CU_CTX_SCHED_YIELD));
  SIM_OK(cuCtxPushCurrent(context_));
  SIM_OK(cuCtxGetDevice(&device));
  EXPECT_EQ(device, 0);
  SIM_OK(cuCtxPopCurrent(&current));
  EXPECT_EQ(current, context_);
  SIM_OK(cuCtxDestroy(second));
  SIM_OK(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, context_);
  EXPECT_EQ(cuCtxSetCurrent(second), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(ContextTest, NoCurrentContext) {
  SIM_OK(cuCtxSetCurrent(nullptr));
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuMemAlloc(&memory, 64), CUDA_ERROR_INVALID_CONTEXT);
  CUcontext current = context_;
  SIM_OK(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, nullptr);
}

TEST_F(ContextTest, PrimaryContextsAreCounted) {
  CUcontext again = nullptr;
  unsigned flags = 0;
  int active = 0;
  SIM_OK(cuDevicePrimaryCtxRetain(&again, 0));
  EXPECT_EQ(again, context_);
  SIM_OK(cuDevicePrimaryCtxRelease(0));
  SIM_OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 1);
  SIM_OK(cuDevicePrimaryCtxGetState(1, &flags, &active));
  EXPECT_EQ(active, 0);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(1), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(ContextTest, DestructionEndsParkedWork) {
  CUcontext second = nullptr;
  SIM_OK(cuCtxCreate(&second, nullptr, 0, 0));
  CUstream stream = nullptr;
  SIM_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr word = 0;
  SIM_OK(cuMemAlloc(&word, 4));
  SIM_OK(cuMemsetD32(word, 0, 1));
  SIM_OK(cuStreamWaitValue32(stream, word, 1, CU_STREAM_WAIT_VALUE_EQ));
  SIM_OK(cuCtxDestroy(second));
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
  SIM_OK(cuCtxSynchronize());
}

}  // namespace
}  // namespace simcuda
