// What a thread remembers of the allocations it asked for: as the memory would answer, whatever
// came and went since.
#include <memory>
#include <random>
#include <vector>

#include "runtime/api/extent_cache.h"
#include "runtime/api/runtime.h"
#include "tests/mover/unmap_one.h"
#include "tests/mover/world.h"

namespace vramspan_test {
namespace {

using vramspan::Allocation;
using vramspan::Bytes;
using vramspan::DetachedMemory;
using vramspan::DevicePtr;
using vramspan::Extent;
using vramspan::ExtentCache;
using vramspan::Memory;
using vramspan::MiB;
using vramspan::Runtime;
using vramspan::StatusOr;

class ExtentsTest : public MoverTest {
 protected:
  void SetUp() override { runtime_ = Make(); }
  static std::unique_ptr<Runtime> Make() {
    const RuntimeOptions options{.chunk = "4MiB"};  // Which the other names.
    const vramspanConfig config = Config(options);
    StatusOr<std::unique_ptr<Runtime>> made = Runtime::Create(&config);
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() ? *std::move(made) : nullptr;
  }
  Memory& memory() { return runtime_->memory(); }
  DevicePtr Allocate(Bytes size) {
    const StatusOr<DevicePtr> p = memory().Allocate(size);
    EXPECT_TRUE(p.ok()) << p.status();
    return p.value_or(DevicePtr());
  }
  static std::pair<DevicePtr, Bytes> Of(const Extent& e) { return {e.base, e.size}; }
  static std::pair<DevicePtr, Bytes> Told(Memory& memory, DevicePtr p) {
    const StatusOr<Allocation> a = memory.Find(p);
    return a.ok() ? std::pair(a->base, a->reserved) : std::pair<DevicePtr, Bytes>();
  }

  const Watchdog watchdog_{"a test of extents", 60};
  std::unique_ptr<Runtime> runtime_;
  ExtentCache cache_;
};

TEST_F(ExtentsTest, WhatIsFreedIsNotFound) {
  const DevicePtr p = Allocate(MiB(8));
  const DevicePtr inner = p + MiB(5);
  EXPECT_EQ(Of(cache_.Find(memory(), inner)), std::pair(p, MiB(8)));
  EXPECT_EQ(Of(cache_.Find(memory(), inner)), std::pair(p, MiB(8)));
  ASSERT_TRUE(memory().Free(p).ok());
  EXPECT_EQ(cache_.Find(memory(), inner).size, Bytes(0));
}

TEST_F(ExtentsTest, WhereNothingLivedSomethingMay) {
  const DevicePtr begin = memory().page_map().base();
  std::vector<DevicePtr> asked;
  for (uint64_t at = 0; at < MiB(16).value; at += 4096) asked.push_back(begin + Bytes(at));
  // Packed objects come unnoticed.
  for (const Bytes size : {MiB(4), Bytes(4096)}) {
    for (int i = 0; i < 2; ++i) {
      for (const DevicePtr p : asked) ASSERT_EQ(cache_.Find(memory(), p).size, Bytes(0));
    }
    const DevicePtr there = Allocate(size);
    ASSERT_LT(there, asked.back());
    EXPECT_EQ(cache_.Find(memory(), there).base, there);
    for (const DevicePtr p : asked) ASSERT_EQ(Of(cache_.Find(memory(), p)), Told(memory(), p));
    ASSERT_TRUE(memory().Free(there).ok());
  }
}

TEST_F(ExtentsTest, OfAReservationWhatIsMappedCounts) {
  const StatusOr<DevicePtr> base = memory().vmm().Reserve(MiB(64), MiB(2));
  ASSERT_TRUE(base.ok());
  StatusOr<DetachedMemory> first = runtime_->MakeDetached(MiB(4));
  StatusOr<DetachedMemory> second = runtime_->MakeDetached(MiB(4));
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_TRUE(memory().vmm().MapDetached(*first, *base).ok());
  EXPECT_EQ(Of(cache_.Find(memory(), *base)), std::pair(*base, MiB(4)));
  ASSERT_TRUE(memory().vmm().MapDetached(*second, *base + MiB(12)).ok());
  EXPECT_EQ(Of(cache_.Find(memory(), *base)), std::pair(*base, MiB(16)));
  StatusOr<DetachedMemory> taken = UnmapOne(*runtime_, *base + MiB(12), MiB(4));
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ(Of(cache_.Find(memory(), *base)), std::pair(*base, MiB(4)));
  memory().vmm().ReleaseDetached(*std::move(taken));
  taken = UnmapOne(*runtime_, *base, MiB(4));
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ(cache_.Find(memory(), *base).size, Bytes(0));
  memory().vmm().ReleaseDetached(*std::move(taken));
  EXPECT_TRUE(memory().vmm().Unreserve(*base, MiB(64)).ok());
}

// The next runtime's memory may have the same addresses.
TEST_F(ExtentsTest, AnotherMemoryIsAnother) {
  const DevicePtr p = Allocate(MiB(8));
  EXPECT_EQ(cache_.Find(memory(), p).size, MiB(8));
  runtime_.reset();
  runtime_ = Make();
  const DevicePtr q = Allocate(MiB(4));
  for (const DevicePtr at : {p, q, q + MiB(3), q + MiB(4)}) {
    EXPECT_EQ(Of(cache_.Find(memory(), at)), Told(memory(), at));
  }
}

TEST_F(ExtentsTest, AnswersAsTheMemoryDoes) {
  std::mt19937 random(7);
  std::vector<DevicePtr> live, asked;
  for (int step = 0; step < 3'000; ++step) {
    if (random() % 8 == 0 || live.empty()) {
      // Packed ones among them.
      const Bytes size(random() % 3 == 0 ? 4096 : (1 + random() % 6) * MiB(1).value + 4096);
      if (live.size() < 12) live.push_back(Allocate(size));
      asked.push_back(live.back() + Bytes(random() % 4096));
      // Often nothing lives there, until something does.
      asked.push_back(live.back() + MiB(random() % 16));
    } else if (random() % 8 == 0) {
      std::swap(live[random() % live.size()], live.back());
      ASSERT_TRUE(memory().Free(live.back()).ok());
      live.pop_back();
    }
    const DevicePtr p = asked[random() % asked.size()];
    ASSERT_EQ(Of(cache_.Find(memory(), p)), Told(memory(), p)) << step;
  }
}

}  // namespace
}  // namespace vramspan_test
