// What a framework does with libvramspan.so: functions found by name, memory beyond the device's.
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "include/vramspan/process.h"
#include "runtime/driver/driver.h"

namespace vramspan {
namespace {

constexpr size_t kBlock = size_t{8} << 20;

class FrameworksTest : public testing::Test {
 protected:
  FrameworksTest() : library_(dlopen(VRAMSPAN_LIBRARY, RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(library_, nullptr) << dlerror();
    auto driver = Driver::Load();
    EXPECT_TRUE(driver.ok()) << driver.status();
    driver_ = *driver;
    CUdevice device = 0;
    EXPECT_EQ((*driver_)->DeviceGet(&device, 0), CUDA_SUCCESS);
    EXPECT_EQ((*driver_)->DevicePrimaryCtxRetain(&context_, device), CUDA_SUCCESS);
    EXPECT_EQ((*driver_)->CtxSetCurrent(context_), CUDA_SUCCESS);
  }
  template <typename Function>
  Function Find(const char* name) const {
    const auto function = reinterpret_cast<Function>(dlsym(library_, name));
    EXPECT_NE(function, nullptr) << name;
    return function;
  }
  // Fills blocks of twice the device's memory and reads them back.
  template <typename Malloc, typename Free>
  void Use(Malloc allocate, Free release) {
    std::vector<void*> blocks;
    for (int i = 0; i < 16; ++i) {
      void* const p = allocate(kBlock);
      ASSERT_NE(p, nullptr) << i;
      blocks.push_back(p);
      EXPECT_EQ((*driver_)->MemsetD8Async(reinterpret_cast<CUdeviceptr>(p),
                                          static_cast<unsigned char>(i), kBlock, nullptr),
                CUDA_SUCCESS);
    }
    std::vector<unsigned char> bytes(kBlock);
    for (size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_EQ((*driver_)->MemcpyDtoHAsync(bytes.data(), reinterpret_cast<CUdeviceptr>(blocks[i]),
                                            kBlock, nullptr),
                CUDA_SUCCESS);
      EXPECT_EQ((*driver_)->StreamSynchronize(nullptr), CUDA_SUCCESS);
      EXPECT_EQ(bytes, std::vector<unsigned char>(kBlock, static_cast<unsigned char>(i)));
      release(blocks[i]);
    }
  }

  void* const library_;
  std::shared_ptr<const Driver> driver_;
  CUcontext context_ = nullptr;
};

TEST_F(FrameworksTest, PyTorch) {
  const auto allocate = Find<void* (*)(ssize_t, int, void*)>("vramspan_torch_malloc");
  const auto release = Find<void (*)(void*, ssize_t, int, void*)>("vramspan_torch_free");
  Use([&](size_t size) { return allocate(static_cast<ssize_t>(size), 0, nullptr); },
      [&](void* p) { release(p, static_cast<ssize_t>(kBlock), 0, nullptr); });
  EXPECT_EQ(allocate(0, 0, nullptr), nullptr);
  EXPECT_EQ(allocate(-1, 0, nullptr), nullptr);
  EXPECT_EQ(allocate(64, 1000, nullptr), nullptr) << "no such device";
  EXPECT_EQ(allocate(64, -1, nullptr), nullptr);
  EXPECT_EQ(allocate(ssize_t{1} << 50, 0, nullptr), nullptr) << "no such room";
  release(nullptr, 0, 0, nullptr);
  int mine = 0;
  release(&mine, 4, 0, nullptr);  // A line on stderr, and nothing else.
}

TEST_F(FrameworksTest, CuPy) {
  const auto allocate = Find<void* (*)(void*, size_t, int)>("vramspan_cupy_malloc");
  const auto release = Find<void (*)(void*, void*, int)>("vramspan_cupy_free");
  Use([&](size_t size) { return allocate(nullptr, size, 0); },
      [&](void* p) { release(nullptr, p, 0); });
  EXPECT_EQ(allocate(nullptr, 0, 0), nullptr);
  release(nullptr, nullptr, 0);
}

// Without a handle: the address and the device say which runtime is meant.
TEST_F(FrameworksTest, TheProgramSaysWhatItWants) {
  const auto allocate = Find<void* (*)(ssize_t, int, void*)>("vramspan_torch_malloc");
  const auto release = Find<void (*)(void*, ssize_t, int, void*)>("vramspan_torch_free");
  const auto pin = Find<decltype(&vramspanProcessPin)>("vramspanProcessPin");
  const auto unpin = Find<decltype(&vramspanProcessUnpin)>("vramspanProcessUnpin");
  const auto prefetch = Find<decltype(&vramspanProcessPrefetch)>("vramspanProcessPrefetch");
  const auto discard = Find<decltype(&vramspanProcessDiscard)>("vramspanProcessDiscard");
  const auto statistics = Find<decltype(&vramspanProcessStatistics)>("vramspanProcessStatistics");
  const auto message = Find<decltype(&vramspanLastErrorMessage)>("vramspanLastErrorMessage");

  const auto p = reinterpret_cast<CUdeviceptr>(allocate(static_cast<ssize_t>(kBlock), 0, nullptr));
  ASSERT_NE(p, 0U);
  vramspanStatistics s{};
  EXPECT_EQ(statistics(0, &s), CUDA_ERROR_INVALID_VALUE) << "no size";
  s.struct_size = sizeof(s);
  EXPECT_EQ(statistics(0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(statistics(1, &s), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(statistics(-1, &s), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(statistics(0, &s), CUDA_SUCCESS);
  EXPECT_EQ(s.allocated_bytes, kBlock);

  EXPECT_EQ(pin(p, kBlock), CUDA_SUCCESS) << message();
  EXPECT_EQ(unpin(p, kBlock), CUDA_SUCCESS) << message();
  EXPECT_EQ(unpin(p, kBlock), CUDA_ERROR_INVALID_VALUE) << "not pinned any more";
  EXPECT_EQ(pin(0x1000, 1), CUDA_ERROR_NOT_FOUND);
  EXPECT_STREQ(message(), "vramspan backs no memory of this process at 0x1000");
  EXPECT_EQ(prefetch(0x1000, 1, VRAMSPAN_LOCATION_HOST, nullptr), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(prefetch(p, kBlock, static_cast<vramspanLocation>(7), nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(prefetch(p, kBlock, VRAMSPAN_LOCATION_HOST, nullptr), CUDA_SUCCESS) << message();
  EXPECT_EQ((*driver_)->StreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(discard(0x1000, 1, nullptr), CUDA_ERROR_NOT_FOUND);
  EXPECT_STREQ(message(), "vramspan backs no memory of this process at 0x1000");
  EXPECT_EQ(discard(p, kBlock, nullptr), CUDA_SUCCESS) << message();
  release(reinterpret_cast<void*>(p), static_cast<ssize_t>(kBlock), 0, nullptr);
  EXPECT_EQ(unpin(p, kBlock), CUDA_ERROR_NOT_FOUND) << "it is freed";
  EXPECT_EQ(discard(p, kBlock, nullptr), CUDA_ERROR_NOT_FOUND) << "it is freed";
}

}  // namespace
}  // namespace vramspan
