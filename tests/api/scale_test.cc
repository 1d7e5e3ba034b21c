// Many allocations through the C interface, on the simulated driver: what they take, that they do
// not touch one another, and that all of it comes back.
#include <cuda.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "include/vramspan/vramspan.h"
#include "runtime/driver/driver.h"
#include "tools/simcuda/control.h"

namespace vramspan {
namespace {

constexpr size_t kKiB = size_t{1} << 10;
constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kGranule = 2 * kMiB;
constexpr size_t kAlignment = 256;

class ScaleTest : public testing::Test {
 protected:
  ScaleTest() : driver_(Driver::Load().value()) {
    memory_used_ =
        reinterpret_cast<decltype(&simcudaMemoryUsed)>(driver_->Symbol("simcudaMemoryUsed"));
    EXPECT_EQ((*driver_)->DevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    EXPECT_EQ((*driver_)->CtxSetCurrent(context_), CUDA_SUCCESS);
    vramspanConfig config{};
    config.struct_size = sizeof(config);
    config.device_memory = "48GiB";
    config.host_memory = "64MiB";
    Ok(vramspanCreate(&runtime_, &config));
  }
  ~ScaleTest() override {
    Ok(vramspanDestroy(runtime_));
    EXPECT_EQ((*driver_)->DevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  }

  static void Ok(CUresult result) {
    if (result != CUDA_SUCCESS) FAIL() << vramspanLastErrorMessage();
  }
  CUdeviceptr Allocate(size_t size) {
    CUdeviceptr p = 0;
    Ok(vramspanMemAlloc(runtime_, &p, size));
    return p;
  }
  void Free(CUdeviceptr p) { Ok(vramspanMemFree(runtime_, p)); }
  vramspanStatistics Statistics() {
    vramspanStatistics s{};
    s.struct_size = sizeof(s);
    Ok(vramspanGetStatistics(runtime_, &s));
    return s;
  }
  // As the driver counts it, and so as cuMemGetInfo shows it.
  size_t DriverUsed() const { return static_cast<size_t>(memory_used_(0)); }

  const std::shared_ptr<const Driver> driver_;
  vramspanRuntime runtime_ = nullptr;

 private:
  decltype(&simcudaMemoryUsed) memory_used_ = nullptr;
  CUcontext context_ = nullptr;
};

// 10,000 x 256 bytes are 2.44 MiB, and the driver gives memory in granules of 2 MiB.
TEST_F(ScaleTest, TenThousandOf256BytesTakeTwoGranules) {
  const size_t before = DriverUsed();
  for (int i = 0; i < 10'000; ++i) Allocate(256);
  EXPECT_EQ(Statistics().device_used, 2 * kGranule);
  EXPECT_EQ(DriverUsed() - before, 2 * kGranule);
  // They fill 40 of the 64 blocks of 64 KiB; what is left of the granules serves others.
  for (int i = 0; i < 24; ++i) Allocate(64 * kKiB);
  EXPECT_EQ(DriverUsed() - before, 2 * kGranule);
  for (int i = 0; i < 10'000; ++i) Allocate(256);
  EXPECT_EQ(Statistics().device_used, 4 * kGranule);
}

struct Object {
  CUdeviceptr ptr;
  size_t size;
};

// Mostly a few hundred bytes, some up to the largest that is packed, and at last some that have
// chunks of their own.
std::vector<size_t> MixedSizes(size_t small, size_t large, std::mt19937_64& random) {
  std::vector<size_t> sizes;
  for (size_t i = 0; i < small; ++i) {
    const size_t most = i % 1000 == 0 ? kMiB : i % 100 == 0 ? 64 * kKiB : 2 * kKiB;
    sizes.push_back(1 + random() % most);
  }
  for (size_t i = 0; i < large; ++i) sizes.push_back(kMiB + 1 + random() % (5 * kMiB));
  std::shuffle(sizes.begin(), sizes.end(), random);
  return sizes;
}

class Clock {
 public:
  // Since the last lap.
  double Seconds() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

TEST_F(ScaleTest, AMillionLiveAllocations) {
  constexpr size_t kLarge = 4'000;
  constexpr size_t kAll = 1'000'000;
  std::mt19937_64 random(2);
  const size_t before = DriverUsed();
  Clock clock;

  std::vector<Object> objects;
  size_t asked = 0;
  for (const size_t size : MixedSizes(kAll - kLarge, kLarge, random)) {
    objects.push_back({Allocate(size), size});
    asked += size;
  }
  const double allocate = clock.Seconds();
  const vramspanStatistics full = Statistics();
  EXPECT_EQ(full.allocations, kAll);
  EXPECT_GE(full.allocated_bytes, asked);
  EXPECT_EQ(full.host_used, 0u);
  // Classes waste up to a fifth, blocks of their own up to a half, chunks less than a granule.
  EXPECT_LE(full.device_used, asked + asked / 2 + kLarge * kGranule);

  std::vector<Object> sorted = objects;
  std::sort(sorted.begin(), sorted.end(),
            [](const Object& a, const Object& b) { return a.ptr < b.ptr; });
  for (size_t i = 0; i < kAll; ++i) {
    ASSERT_EQ(sorted[i].ptr % kAlignment, 0u);
    if (i + 1 < kAll) {
      ASSERT_LE(sorted[i].ptr + sorted[i].size, sorted[i + 1].ptr);
    }
  }
  clock.Seconds();

  for (int i = 0; i < 100'000; ++i) {
    const Object& o = objects[random() % kAll];
    CUdeviceptr base = 0;
    size_t size = 0;
    Ok(vramspanMemGetAddressRange(runtime_, &base, &size, o.ptr + random() % o.size));
    ASSERT_EQ(base, o.ptr);
    ASSERT_GE(size, o.size);
  }
  const double query = clock.Seconds();

  std::shuffle(objects.begin(), objects.end(), random);
  for (const Object& o : objects) Free(o.ptr);
  const double release = clock.Seconds();
  Ok(vramspanSynchronize(runtime_));
  std::printf("allocated in %.2f s, 100,000 queries in %.2f s, freed in %.2f s; %llu MiB in use\n",
              allocate, query, release, static_cast<unsigned long long>(full.device_used / kMiB));

  const vramspanStatistics empty = Statistics();
  EXPECT_EQ(empty.allocations, 0u);
  EXPECT_EQ(empty.allocated_bytes, 0u);
  EXPECT_EQ(empty.peak_allocated_bytes, full.allocated_bytes);
  // One empty chunk is kept for the next small allocation, and handles for the next chunks.
  EXPECT_LE(empty.chunks, 1u);
  EXPECT_LE(empty.device_used, kGranule);
  EXPECT_EQ(DriverUsed() - before, empty.device_used + empty.device_cached);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(vramspanMemFree(runtime_, objects[random() % kAll].ptr), CUDA_ERROR_INVALID_VALUE);
  }
}

}  // namespace
}  // namespace vramspan
