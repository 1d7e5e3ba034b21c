// What the runtime keeps in host memory for each chunk and each allocation. Counted are the bytes
// that code linked into this program has from operator new, so not those of the simulated driver,
// which is a library, and what lies in tables of its own: sizeof(Chunk) a chunk, and 4 bytes of the
// page map for every 2 MiB.
#include <cuda.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>
#include <vector>

#include "include/vramspan/vramspan.h"
#include "runtime/driver/driver.h"
#include "runtime/space/chunk.h"

// Where this program's code begins and ends; from the linker.
extern "C" const char __executable_start, etext;

namespace {

std::atomic<int64_t> counted_bytes{0};

// Before each block. As large as the alignment that operator new promises.
struct alignas(16) Header {
  size_t counted;
};

void* Allocate(size_t size, const void* caller) {
  auto* header = static_cast<Header*>(std::malloc(sizeof(Header) + size));
  if (header == nullptr) throw std::bad_alloc();
  const bool ours = caller >= &__executable_start && caller < &etext;
  header->counted = ours ? size : 0;
  counted_bytes.fetch_add(static_cast<int64_t>(header->counted), std::memory_order_relaxed);
  return header + 1;
}

void Deallocate(void* p) {
  if (p == nullptr) return;
  Header* header = static_cast<Header*>(p) - 1;
  counted_bytes.fetch_sub(static_cast<int64_t>(header->counted), std::memory_order_relaxed);
  std::free(header);
}

}  // namespace

void* operator new(size_t size) { return Allocate(size, __builtin_return_address(0)); }
void* operator new[](size_t size) { return Allocate(size, __builtin_return_address(0)); }
// As the library has it, but a sanitizer's would not be freed here.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return Allocate(size, __builtin_return_address(0));
}
void operator delete(void* p) noexcept { Deallocate(p); }
void operator delete[](void* p) noexcept { Deallocate(p); }
void operator delete(void* p, size_t) noexcept { Deallocate(p); }
void operator delete[](void* p, size_t) noexcept { Deallocate(p); }

namespace vramspan {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kPageMapEntry = 4;
constexpr double kPerChunk = 64;
constexpr double kPerAllocation = 128;

class MetadataTest : public testing::Test {
 protected:
  MetadataTest() : driver_(Driver::Load().value()) {
    EXPECT_EQ((*driver_)->DevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    EXPECT_EQ((*driver_)->CtxSetCurrent(context_), CUDA_SUCCESS);
  }
  ~MetadataTest() override {
    if (runtime_ != nullptr) Ok(vramspanDestroy(runtime_));
    EXPECT_EQ((*driver_)->DevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  }

  static void Ok(CUresult result) { ASSERT_EQ(result, CUDA_SUCCESS) << vramspanLastErrorMessage(); }
  void Create(const char* policy) {
    vramspanConfig config{};
    config.struct_size = sizeof(config);
    config.device_memory = "250GiB";
    config.host_memory = "64MiB";
    config.chunk = "2MiB";
    config.policy = policy;
    Ok(vramspanCreate(&runtime_, &config));
  }
  void Destroy() {
    Ok(vramspanDestroy(runtime_));
    runtime_ = nullptr;
  }
  CUdeviceptr Allocate(size_t size) {
    CUdeviceptr p = 0;
    Ok(vramspanMemAlloc(runtime_, &p, size));
    return p;
  }
  size_t Chunks() {
    vramspanStatistics s{};
    s.struct_size = sizeof(s);
    Ok(vramspanGetStatistics(runtime_, &s));
    return s.chunks;
  }

  const std::shared_ptr<const Driver> driver_;
  vramspanRuntime runtime_ = nullptr;

 private:
  CUcontext context_ = nullptr;
};

TEST_F(MetadataTest, AChunkTakesAtMost64Bytes) {
  for (const char* policy : {"lru", "clock"}) {
    Create(policy);
    const int64_t before = counted_bytes;
    constexpr size_t kStep = 1000;
    double worst = 0;
    // Large allocations, so that it is the chunks that count. The tables are at their worst when
    // they have just grown.
    for (size_t chunks = kStep; chunks <= 100'000; chunks += kStep) {
      Allocate(kStep * 2 * kMiB);
      const double heap = static_cast<double>(counted_bytes - before) / static_cast<double>(chunks);
      if (chunks >= 10'000) worst = std::max(worst, heap + sizeof(Chunk) + kPageMapEntry);
    }
    ASSERT_EQ(Chunks(), 100'000u);
    std::printf("%s: at most %.1f bytes a chunk\n", policy, worst);
    EXPECT_LE(worst, kPerChunk) << policy;
    Destroy();
  }
}

// Those that share chunks: everything counts, their chunks too.
TEST_F(MetadataTest, AMillionSmallAllocationsTakeAtMost128BytesEach) {
  Create("lru");
  std::mt19937_64 random(3);
  const int64_t before = counted_bytes;
  double worst = 0;
  for (size_t count = 1; count <= 1'000'000; ++count) {
    Allocate(1 + random() % (count % 100 == 0 ? kMiB : 8192));
    if (count < 10'000) continue;
    worst =
        std::max(worst, static_cast<double>(counted_bytes - before) / static_cast<double>(count));
  }
  const size_t tables = Chunks() * (sizeof(Chunk) + kPageMapEntry);
  worst += static_cast<double>(tables) / 1e6;
  std::printf("at most %.1f bytes an allocation\n", worst);
  EXPECT_LE(worst, kPerAllocation);
}

TEST_F(MetadataTest, AllocationsWithChunksOfTheirOwnTakeAtMost128BytesEachBesideThem) {
  Create("lru");
  const int64_t before = counted_bytes;
  double worst = 0;
  for (size_t count = 1; count <= 100'000; ++count) {
    Allocate(2 * kMiB);
    const double heap = static_cast<double>(counted_bytes - before) / static_cast<double>(count);
    if (count >= 10'000) worst = std::max(worst, heap + sizeof(Chunk) + kPageMapEntry);
  }
  std::printf("at most %.1f bytes an allocation and its chunk\n", worst);
  EXPECT_LE(worst, kPerAllocation + kPerChunk);
}

}  // namespace
}  // namespace vramspan
