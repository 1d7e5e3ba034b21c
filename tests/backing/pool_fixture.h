// The simulated driver, its control functions and a context, for the tests of the pools. Each test
// ends with the check that every byte went back to the driver and no handle was used after its end.
#ifndef VRAMSPAN_TESTS_BACKING_POOL_FIXTURE_H_
#define VRAMSPAN_TESTS_BACKING_POOL_FIXTURE_H_

#include <gmock/gmock.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "runtime/base/log.h"
#include "runtime/driver/driver.h"
#include "tools/simcuda/control.h"

namespace vramspan {

class PoolTest : public ::testing::Test {
 protected:
  PoolTest() {
    auto driver = Driver::Load();
    VS_CHECK(driver.ok());
    driver_ = *driver;
    fail_ = Control<decltype(&simcudaFail)>("simcudaFail");
    delay_ = Control<decltype(&simcudaSetDelay)>("simcudaSetDelay");
    call_count_ = Control<decltype(&simcudaCallCount)>("simcudaCallCount");
    memory_used_ = Control<decltype(&simcudaMemoryUsed)>("simcudaMemoryUsed");
    set_device_memory_ = Control<decltype(&simcudaSetDeviceMemory)>("simcudaSetDeviceMemory");
    set_host_memory_ = Control<decltype(&simcudaSetHostMemory)>("simcudaSetHostMemory");
    stale_uses_ = Control<decltype(&simcudaStaleHandleUses)>("simcudaStaleHandleUses");
    reset_ = Control<decltype(&simcudaReset)>("simcudaReset");
    reset_();
    CUdevice device = 0;
    VS_CHECK((*driver_)->DeviceGet(&device, 0) == CUDA_SUCCESS);
    VS_CHECK((*driver_)->DevicePrimaryCtxRetain(&context_, device) == CUDA_SUCCESS);
    VS_CHECK((*driver_)->CtxSetCurrent(context_) == CUDA_SUCCESS);
    device_before_ = memory_used_(0);
    host_before_ = memory_used_(-1);
  }

  ~PoolTest() override {
    EXPECT_EQ(memory_used_(0), device_before_) << "device memory leaked";
    EXPECT_EQ(memory_used_(-1), host_before_) << "host memory leaked";
    EXPECT_EQ(stale_uses_(), 0u) << "a handle was used after its end";
    reset_();
    VS_CHECK((*driver_)->DevicePrimaryCtxRelease(0) == CUDA_SUCCESS);
  }

  // Bytes in use beyond what the context takes.
  Bytes DeviceUsed() const {
    return Bytes(static_cast<uint64_t>(memory_used_(0) - device_before_));
  }
  Bytes HostUsed() const { return Bytes(static_cast<uint64_t>(memory_used_(-1) - host_before_)); }

  // Writes through one address of `size` bytes and reads through the other: they are the same
  // memory.
  void ExpectSame(DevicePtr write, DevicePtr read, Bytes size, unsigned char value) {
    ASSERT_EQ((*driver_)->MemsetD8Async(write.value, value, size.value, nullptr), CUDA_SUCCESS);
    unsigned char ends[2] = {};
    ASSERT_EQ((*driver_)->MemcpyDtoHAsync(&ends[0], read.value, 1, nullptr), CUDA_SUCCESS);
    ASSERT_EQ((*driver_)->MemcpyDtoHAsync(&ends[1], read.value + size.value - 1, 1, nullptr),
              CUDA_SUCCESS);
    ASSERT_EQ((*driver_)->CtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(ends[0], value);
    EXPECT_EQ(ends[1], value);
  }

  // Polls; false after 20 seconds.
  static bool Eventually(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }

  std::shared_ptr<const Driver> driver_;
  CUcontext context_ = nullptr;
  decltype(&simcudaFail) fail_;
  decltype(&simcudaSetDelay) delay_;
  decltype(&simcudaCallCount) call_count_;
  decltype(&simcudaMemoryUsed) memory_used_;
  decltype(&simcudaSetDeviceMemory) set_device_memory_;
  decltype(&simcudaSetHostMemory) set_host_memory_;
  decltype(&simcudaStaleHandleUses) stale_uses_;
  decltype(&simcudaReset) reset_;

 private:
  template <typename Function>
  Function Control(const char* name) {
    const auto function = reinterpret_cast<Function>(driver_->Symbol(name));
    VS_CHECK(function != nullptr);
    return function;
  }

  long long device_before_ = 0;
  long long host_before_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_TESTS_BACKING_POOL_FIXTURE_H_
