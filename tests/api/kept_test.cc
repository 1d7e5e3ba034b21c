// Freed device memory stays mapped for the next allocation of its size, and is there for everybody
// else all the same.
#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "include/vramspan/vramspan.h"
#include "runtime/driver/driver.h"
#include "runtime/memory/free_range_cache.h"
#include "runtime/memory/freed_ranges.h"
#include "tools/simcuda/control.h"

namespace vramspan {
namespace {

using ::testing::HasSubstr;

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kBudget = 256 * kMiB;

class KeptTest : public testing::Test {
 protected:
  KeptTest() : driver_(Driver::Load().value()) {
    Find("simcudaFail", &fail_);
    Find("simcudaCallCount", &call_count_);
    Find("simcudaMemoryUsed", &memory_used_);
    Find("simcudaReset", &reset_);
    reset_();
    EXPECT_EQ((*driver_)->DevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    EXPECT_EQ((*driver_)->CtxSetCurrent(context_), CUDA_SUCCESS);
    before_ = memory_used_(0);
    vramspanConfig config{};
    config.struct_size = sizeof(config);
    config.device_memory = "256MiB";
    config.host_memory = "1GiB";
    config.flags = VRAMSPAN_CONFIG_QUIET;
    Ok(vramspanCreate(&runtime_, &config));
  }
  ~KeptTest() override {
    Ok(vramspanDestroy(runtime_));
    EXPECT_EQ(memory_used_(0), before_) << "device memory leaked";
    reset_();
    EXPECT_EQ((*driver_)->DevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  }

  template <typename F>
  void Find(const char* name, F* function) {
    *function = reinterpret_cast<F>(driver_->Symbol(name));
    ASSERT_NE(*function, nullptr) << name;
  }
  static void Ok(CUresult result) { ASSERT_EQ(result, CUDA_SUCCESS) << vramspanLastErrorMessage(); }
  CUdeviceptr Allocate(size_t size) {
    CUdeviceptr p = 0;
    Ok(vramspanMemAlloc(runtime_, &p, size));
    return p;
  }
  std::vector<CUdeviceptr> Allocate(size_t count, size_t size) {
    std::vector<CUdeviceptr> all(count);
    for (CUdeviceptr& p : all) p = Allocate(size);
    return all;
  }
  void Free(CUdeviceptr p) { Ok(vramspanMemFree(runtime_, p)); }
  // Waits for the work that may still use it as well.
  void FreeAll(const std::vector<CUdeviceptr>& all) {
    for (const CUdeviceptr p : all) Free(p);
    Ok(vramspanSynchronize(runtime_));
  }
  vramspanStatistics Statistics() {
    vramspanStatistics s{};
    s.struct_size = sizeof(s);
    Ok(vramspanGetStatistics(runtime_, &s));
    return s;
  }
  long long VmmCalls() {
    long long calls = 0;
    for (const char* name :
         {"cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemUnmap", "cuMemSetAccess"}) {
      calls += call_count_(name);
    }
    return calls;
  }

  const std::shared_ptr<const Driver> driver_;
  vramspanRuntime runtime_ = nullptr;
  decltype(&simcudaFail) fail_ = nullptr;
  decltype(&simcudaCallCount) call_count_ = nullptr;
  decltype(&simcudaMemoryUsed) memory_used_ = nullptr;

 private:
  decltype(&simcudaReset) reset_ = nullptr;
  CUcontext context_ = nullptr;
  long long before_ = 0;
};

TEST_F(KeptTest, AnAllocationOfTheSameSizeNeedsNoCall) {
  for (const size_t size : {64 * kMiB, 2 * kMiB, 37 * kMiB + 5}) {
    FreeAll(Allocate(2, size));
    const long long before = VmmCalls();
    std::vector<CUdeviceptr> again = Allocate(2, size);
    EXPECT_EQ(VmmCalls(), before) << size;
    EXPECT_EQ(Statistics().allocations, 2u);
    EXPECT_GE(Statistics().device_used, 2 * size);
    FreeAll(again);
    EXPECT_EQ(VmmCalls(), before) << size;
    EXPECT_EQ(Statistics().device_used, 0u);
  }
}

TEST_F(KeptTest, AMallocAndItsFreeCostNextToNoDriverCalls) {
  // Frees wait for a drain together: two at a time, with this budget.
  for (int i = 0; i < 8; ++i) Free(Allocate(8 * kMiB));
  const long long before = call_count_("*");
  for (int i = 0; i < 99; ++i) Free(Allocate(8 * kMiB));
  // Two more where the mover's thread comes to set its context only now.
  EXPECT_LE(call_count_("*") - before, 33 * 6 + 2) << "more than a drain for each third";
}

TEST_F(KeptTest, FreedMemoryIsTheProgramsNoMore) {
  const CUdeviceptr p = Allocate(64 * kMiB);
  FreeAll({p});
  EXPECT_EQ(vramspanMemFree(runtime_, p), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(vramspanMemGetAddressRange(runtime_, nullptr, nullptr, p), CUDA_ERROR_NOT_FOUND);
  vramspanResidency residency{};
  EXPECT_EQ(vramspanMemResidency(runtime_, p, 1, &residency), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Statistics().chunks, 0u);
}

TEST_F(KeptTest, OtherSizesGetTheMemory) {
  FreeAll(Allocate(kBudget / (16 * kMiB), 16 * kMiB));
  EXPECT_EQ(Statistics().device_cached, kBudget);
  const std::vector<CUdeviceptr> large = Allocate(3, 80 * kMiB);
  EXPECT_EQ(Statistics().device_used, 240 * kMiB);
  EXPECT_EQ(Statistics().host_used, 0u);
  EXPECT_LE(Statistics().device_used + Statistics().device_cached, kBudget);
  FreeAll(large);
}

TEST_F(KeptTest, ChunksOfASizeAreTakenOverBeforeOthersAreMade) {
  FreeAll({Allocate(24 * kMiB)});
  const long long creates = call_count_("cuMemCreate");
  FreeAll({Allocate(16 * kMiB)});
  EXPECT_EQ(call_count_("cuMemCreate"), creates) << "both have chunks of 8 MiB";
}

TEST_F(KeptTest, ALowerBudgetGivesItBack) {
  FreeAll(Allocate(4, 64 * kMiB));
  const long long full = memory_used_(0);
  Ok(vramspanSetDeviceBudget(runtime_, 128 * kMiB));
  EXPECT_EQ(memory_used_(0), full - static_cast<long long>(128 * kMiB));
  Ok(vramspanSetDeviceBudget(runtime_, 2 * kMiB));
  EXPECT_LE(memory_used_(0), full - static_cast<long long>(254 * kMiB));
  FreeAll({Allocate(2 * kMiB)});
}

TEST_F(KeptTest, AFailingUnmapIsNamedAndLosesNothing) {
  FreeAll(Allocate(4, 64 * kMiB));
  fail_("cuMemUnmap", 1, 1, CUDA_ERROR_UNKNOWN);
  CUdeviceptr p = 0;
  EXPECT_EQ(vramspanMemAlloc(runtime_, &p, 48 * kMiB), CUDA_ERROR_UNKNOWN);
  EXPECT_THAT(vramspanLastErrorMessage(), HasSubstr("cuMemUnmap"));
  EXPECT_EQ(Statistics().device_cached, kBudget);
  FreeAll({Allocate(48 * kMiB)});
  FreeAll(Allocate(4, 64 * kMiB));
  EXPECT_EQ(Statistics().host_used, 0u);
}

// More than the budget holds, so that kept ranges are taken over, given up and made all the time.
TEST_F(KeptTest, ThreadsShareWhatIsKept) {
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      std::map<CUdeviceptr, size_t> mine;
      for (int i = 0; i < 400; ++i) {
        if (mine.size() < 3 && random() % 3 != 0) {
          const size_t size = (random() % 2 != 0 ? 16 : 2 + random() % 40) * kMiB;
          CUdeviceptr p = 0;
          failures += vramspanMemAlloc(runtime_, &p, size) != CUDA_SUCCESS;
          mine[p] = size;
        } else if (!mine.empty()) {
          failures += vramspanMemFree(runtime_, mine.begin()->first) != CUDA_SUCCESS;
          mine.erase(mine.begin());
        }
      }
      for (const auto& [p, size] : mine) failures += vramspanMemFree(runtime_, p) != CUDA_SUCCESS;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  Ok(vramspanSynchronize(runtime_));
  EXPECT_EQ(Statistics().allocations, 0u);
  EXPECT_EQ(Statistics().chunks, 0u);
  EXPECT_EQ(Statistics().device_used, 0u);
  EXPECT_LE(Statistics().device_cached, kBudget);
}

FreeRange RangeAt(uint64_t mib, std::vector<int> log2_sizes) {
  Bytes size;
  for (const int log2 : log2_sizes) size += ChunkBytes(log2);
  std::vector<uint32_t> slots(log2_sizes.size());
  return {DevicePtr(mib << 20), size, std::move(slots), std::move(log2_sizes)};
}

TEST(FreeRangeCache, GivesTheLatestOfAShapeAndTheOldestOfAll) {
  FreeRangeCache kept;
  kept.Add(RangeAt(64, {24, 21}));
  kept.Add(RangeAt(128, {22}));
  kept.Add(RangeAt(192, {24, 21}));
  kept.Add(RangeAt(256, {22}));
  EXPECT_FALSE(kept.Take(MiB(18), 23).has_value());
  EXPECT_FALSE(kept.Take(MiB(16), 24).has_value());
  EXPECT_FALSE(kept.TakeOldest(23).has_value());
  EXPECT_EQ(kept.Take(MiB(18), 24)->base, DevicePtr(192 * kMiB));
  EXPECT_EQ(kept.TakeOldest(22)->base, DevicePtr(128 * kMiB));
  EXPECT_EQ(kept.TakeOldest(0)->base, DevicePtr(64 * kMiB));
  EXPECT_EQ(kept.Take(MiB(4), 22)->base, DevicePtr(256 * kMiB));
  EXPECT_TRUE(kept.empty());
}

// Whoever waits until nothing dies wants the memory.
TEST(FreedRanges, DieUntilTheyAreTakenApart) {
  FreedRanges freed;
  freed.AddDying({DevicePtr(256 * kMiB), MiB(2), {ChunkIndex(1)}});
  EXPECT_TRUE(freed.TakeIdle([](ChunkIndex) { return true; }).empty()) << "it is in use";
  EXPECT_EQ(freed.TakeIdle([](ChunkIndex) { return false; }).size(), 1u);
  EXPECT_TRUE(freed.has_dying()) << "its memory is not there yet";
  freed.TakenApart(1);
  EXPECT_FALSE(freed.has_dying());
}

}  // namespace
}  // namespace vramspan
