#include "runtime/backing/host_pool.h"

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "runtime/space/chunk.h"
#include "tests/backing/fake_root.h"
#include "tests/backing/pool_fixture.h"
#include "tests/base/refuse_threads.h"

namespace vramspan {
namespace {

using ::testing::HasSubstr;

class HostPoolTest : public PoolTest {
 protected:
  HostPoolTest() { root_.Memory(GiB(64), GiB(32)); }

  std::unique_ptr<HostPool> Make(Bytes budget) {
    HostPoolOptions options;
    options.context = context_;
    options.budget = budget;
    options.alias_space = GiB(64);
    options.limits_root = root_.path();
    auto pool = HostPool::Create(driver_, options);
    EXPECT_TRUE(pool.ok()) << pool.status();
    return pool.ok() ? *std::move(pool) : nullptr;
  }

  static uint32_t MustAcquire(HostPool& pool, int log2) {
    const auto slot = pool.Acquire(log2);
    EXPECT_TRUE(slot.ok()) << slot.status();
    return slot.value_or(kNoSlot);
  }

  // A wish for one chunk size.
  static std::array<Bytes, kChunkSizeCount> Wish(int log2, Bytes bytes) {
    std::array<Bytes, kChunkSizeCount> ready{};
    ready[static_cast<size_t>(log2 - kMinChunkLog2)] = bytes;
    return ready;
  }

  FakeRoot root_;
};

TEST_F(HostPoolTest, ASlotIsHostMemoryThatTheDeviceReachesAtItsAlias) {
  const auto pool = Make(MiB(64));
  const uint32_t slot = MustAcquire(*pool, 23);
  EXPECT_EQ(HostUsed(), MiB(8));
  EXPECT_EQ(DeviceUsed(), Bytes(0));
  EXPECT_NE(pool->handle(slot), 0u);
  ExpectSame(pool->alias(slot), pool->alias(slot), MiB(8), 0x3c);
}

TEST_F(HostPoolTest, OnlyCachedSlotsAreTakenWithoutMakingOne) {
  const auto pool = Make(MiB(64));
  EXPECT_EQ(pool->TryAcquireCached(22), kNoSlot);
  EXPECT_EQ(pool->TryAcquireCached(99), kNoSlot);
  const uint32_t slot = MustAcquire(*pool, 22);
  pool->Release(slot);
  EXPECT_EQ(pool->cached(), MiB(4));
  EXPECT_EQ(pool->TryAcquireCached(23), kNoSlot);
  EXPECT_EQ(pool->TryAcquireCached(22), slot);
  EXPECT_EQ(pool->used(), MiB(4));
  EXPECT_EQ(call_count_("cuMemCreate"), 1);
}

TEST_F(HostPoolTest, ASlotWithoutAnAliasIsNotHandedOutUntilItHasOne) {
  const auto pool = Make(MiB(64));
  fail_("cuMemSetAccess", 1, 1, CUDA_ERROR_UNKNOWN);
  EXPECT_FALSE(pool->Acquire(22).ok());
  EXPECT_EQ(pool->cached(), MiB(4)) << "the memory is kept";
  EXPECT_EQ(pool->TryAcquireCached(22), kNoSlot);
  EXPECT_NE(pool->alias(MustAcquire(*pool, 22)).value, 0u);
  EXPECT_EQ(call_count_("cuMemCreate"), 1);
}

TEST_F(HostPoolTest, AFullBudgetNamesItAndWhatToDo) {
  const auto pool = Make(MiB(10));
  MustAcquire(*pool, 23);
  const auto full = pool->Acquire(22);
  ASSERT_TRUE(absl::IsResourceExhausted(full.status())) << full.status();
  EXPECT_THAT(std::string(full.status().message()), HasSubstr("host budget of 10 MiB: 8 MiB"));
  EXPECT_THAT(std::string(full.status().message()), HasSubstr("raise the host budget"));
}

TEST_F(HostPoolTest, AHostOutOfMemoryIsSaidToBeTheHost) {
  const auto pool = Make(GiB(1));
  set_host_memory_(MiB(4).value);
  const auto full = pool->Acquire(23);
  ASSERT_TRUE(absl::IsResourceExhausted(full.status())) << full.status();
  EXPECT_EQ(ToCuResult(full.status()), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_THAT(std::string(full.status().message()), HasSubstr("cuMemCreate(8 MiB of host memory"));
  EXPECT_THAT(std::string(full.status().message()), HasSubstr("the host cannot pin"));
}

TEST_F(HostPoolTest, AMachineWithoutRoomIsNotAskedForMore) {
  root_.Memory(GiB(64), MiB(512 + 16));
  const auto pool = Make(GiB(1));
  const uint32_t large = MustAcquire(*pool, 24);
  root_.Memory(GiB(64), MiB(512));
  const auto full = pool->Acquire(21);
  ASSERT_TRUE(absl::IsResourceExhausted(full.status())) << full.status();
  EXPECT_THAT(std::string(full.status().message()), HasSubstr("MemAvailable leaves 512 MiB"));
  EXPECT_EQ(call_count_("cuMemCreate"), 1);
  // A cached slot of another size is given back, and the machine has room for this one.
  pool->Release(large);
  EXPECT_FALSE(pool->Acquire(21).ok());
  EXPECT_EQ(HostUsed(), Bytes(0));
  root_.Memory(GiB(64), MiB(512 + 16));
  MustAcquire(*pool, 21);
}

TEST_F(HostPoolTest, MemoryIsMadeAheadAndMadeAgainWhenTaken) {
  const auto pool = Make(MiB(256));
  auto ready = Wish(24, MiB(48));
  ready[0] = MiB(6);
  pool->Preallocate(ready);
  ASSERT_TRUE(Eventually([&] { return pool->cached() == MiB(54); }));
  EXPECT_EQ(HostUsed(), MiB(54));
  const uint32_t slot = pool->TryAcquireCached(24);
  ASSERT_NE(slot, kNoSlot);
  EXPECT_NE(pool->alias(slot).value, 0u);
  ASSERT_TRUE(Eventually([&] { return pool->cached() == MiB(54); }));
  EXPECT_EQ(pool->used(), MiB(16));
  // A smaller wish takes nothing back, and asks for nothing.
  pool->Preallocate(Wish(24, MiB(16)));
  EXPECT_EQ(pool->cached(), MiB(54));
}

TEST_F(HostPoolTest, WithoutAThreadSlotsAreMadeWhenTheyAreWanted) {
  const RefuseThreads refuse;
  const auto pool = Make(MiB(256));
  pool->Preallocate(Wish(24, MiB(48)));
  pool->Preallocate(Wish(24, MiB(64)));
  EXPECT_EQ(RefuseThreads::refused(), 1) << "asked for once, and said once";
  EXPECT_NE(pool->alias(MustAcquire(*pool, 24)).value, 0u);
  EXPECT_EQ(pool->used(), MiB(16));
}

TEST_F(HostPoolTest, WishesStopAtTheBudget) {
  const auto pool = Make(MiB(40));
  pool->Preallocate(Wish(24, GiB(1)));
  ASSERT_TRUE(Eventually([&] { return pool->cached() == MiB(32); }));
  // Raising the budget is another try.
  pool->SetBudget(MiB(64));
  ASSERT_TRUE(Eventually([&] { return pool->cached() == MiB(64); }));
  pool->SetBudget(MiB(16));
  EXPECT_EQ(HostUsed(), MiB(16));
}

// What is made ahead takes the budget's last room before it can be had.
TEST_F(HostPoolTest, RoomThatIsBeingMadeAheadCanBeHad) {
  delay_("cuMemCreate", 1000);
  for (int round = 0; round < 20; ++round) {
    const auto pool = Make(MiB(2));
    const long long calls = call_count_("cuMemCreate");
    pool->Preallocate(Wish(21, MiB(2)));
    ASSERT_TRUE(Eventually([&] { return call_count_("cuMemCreate") > calls; }));
    const auto slot = pool->Acquire(21);
    EXPECT_TRUE(slot.ok()) << slot.status();
  }
  delay_("cuMemCreate", 0);
}

TEST_F(HostPoolTest, WishesWaitForAMachineWithRoom) {
  root_.Memory(GiB(64), MiB(512));
  const auto pool = Make(GiB(1));
  pool->Preallocate(Wish(24, MiB(64)));
  const auto full = pool->Acquire(24);
  EXPECT_TRUE(absl::IsResourceExhausted(full.status())) << full.status();
  EXPECT_EQ(call_count_("cuMemCreate"), 0);
  root_.Memory(GiB(64), GiB(2));
  pool->Preallocate(Wish(24, MiB(64)));
  ASSERT_TRUE(Eventually([&] { return pool->cached() == MiB(64); }));
}

TEST_F(HostPoolTest, AFailureAheadIsQuietAndTheNextWishTriesAgain) {
  const auto pool = Make(MiB(64));
  fail_("cuMemCreate", 1, 1, CUDA_ERROR_UNKNOWN);
  pool->Preallocate(Wish(21, MiB(2)));
  ASSERT_TRUE(Eventually([&] { return call_count_("cuMemCreate") == 1; }));
  EXPECT_EQ(pool->cached(), Bytes(0));
  // The first wish may still be about to record its failure; a wish after it is never lost.
  pool->Preallocate(Wish(21, MiB(2)));
  ASSERT_TRUE(Eventually([&] { return pool->cached() == MiB(2); }));
}

Status UseEverything(HostPool& pool) {
  for (const int log2 : {25, 24, 25}) {
    VS_ASSIGN_OR_RETURN(const uint32_t slot, pool.Acquire(log2));
    EXPECT_NE(pool.alias(slot).value, 0u);
    pool.Release(slot);
  }
  return absl::OkStatus();
}

TEST_F(HostPoolTest, AFailingCallIsNamedAndLeavesThePoolWhole) {
  SetLogThreshold(LogLevel::kOff);  // Some cannot be returned and are logged.
  for (const char* call : {"cuCtxPushCurrent", "cuThreadExchangeStreamCaptureMode", "cuMemCreate",
                           "cuMemMap", "cuMemSetAccess", "cuMemUnmap", "cuMemRelease"}) {
    for (const long long count : {1, -1}) {
      for (unsigned long long nth = 1; nth <= 2; ++nth) {
        SCOPED_TRACE(std::string(call) + " " + std::to_string(nth) + " " + std::to_string(count));
        const auto pool = Make(MiB(32));
        ASSERT_EQ(fail_(call, nth, count, CUDA_ERROR_UNKNOWN), 0);
        const Status failed = UseEverything(*pool);
        // Every other exchange puts the thread's mode back, which has no one to tell.
        const bool reached =
            std::string_view(call) != "cuThreadExchangeStreamCaptureMode" || nth != 2 || count < 0;
        EXPECT_EQ(failed.ok(), !reached);
        if (reached) {
          EXPECT_THAT(std::string(failed.message()), HasSubstr(call));
        }
        EXPECT_EQ(pool->used(), Bytes(0));
        EXPECT_EQ(pool->cached(), HostUsed());
        reset_();
        const Status after = UseEverything(*pool);
        EXPECT_TRUE(after.ok()) << after;
        EXPECT_LE(HostUsed(), MiB(32));
      }
    }
  }
  SetLogThreshold(LogLevel::kWarning);
}

TEST_F(HostPoolTest, ThreadsAndTheThreadThatMakesAheadStayWithinTheBudget) {
  const auto pool = Make(MiB(64));
  pool->Preallocate(Wish(21, MiB(24)));
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 3; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      std::vector<uint32_t> mine;
      for (int i = 0; i < 200; ++i) {
        if (mine.empty() || random() % 2 == 0) {
          const int log2 = 21 + static_cast<int>(random() % 4);
          const uint32_t cached = pool->TryAcquireCached(log2);
          const auto slot = cached != kNoSlot ? StatusOr<uint32_t>(cached) : pool->Acquire(log2);
          if (slot.ok()) {
            EXPECT_NE(pool->alias(*slot).value, 0u);
            mine.push_back(*slot);
          } else {
            EXPECT_TRUE(absl::IsResourceExhausted(slot.status())) << slot.status();
          }
        } else {
          pool->Release(mine.back());
          mine.pop_back();
        }
        if (i % 50 == 0) pool->Preallocate(Wish(21, MiB(2 * (i % 13))));
        EXPECT_LE(HostUsed(), MiB(64));
      }
      for (const uint32_t slot : mine) pool->Release(slot);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool->used(), Bytes(0));
}

TEST_F(HostPoolTest, TheThreadEndsInTheMiddleOfItsWork) {
  for (int i = 0; i < 5; ++i) {
    const auto pool = Make(GiB(1));
    pool->Preallocate(Wish(21, MiB(512)));
  }
}

}  // namespace
}  // namespace vramspan
