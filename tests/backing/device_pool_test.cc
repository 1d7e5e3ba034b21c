#include "runtime/backing/device_pool.h"

#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "runtime/space/chunk.h"
#include "tests/backing/pool_fixture.h"

namespace vramspan {
namespace {

using ::testing::HasSubstr;

class DevicePoolTest : public PoolTest {
 protected:
  std::unique_ptr<DevicePool> Make(Bytes budget, bool exportable = false) {
    DevicePoolOptions options;
    options.context = context_;
    options.budget = budget;
    options.alias_space = GiB(64);
    options.exportable = exportable;
    auto pool = DevicePool::Create(driver_, options);
    EXPECT_TRUE(pool.ok()) << pool.status();
    return pool.ok() ? *std::move(pool) : nullptr;
  }

  static uint32_t MustAcquire(DevicePool& pool, int log2) {
    const auto slot = pool.Acquire(log2);
    EXPECT_TRUE(slot.ok()) << slot.status();
    return slot.value_or(kNoSlot);
  }
};

TEST_F(DevicePoolTest, AReleasedSlotIsUsedAgainWithItsAlias) {
  const auto pool = Make(MiB(64));
  const uint32_t slot = MustAcquire(*pool, 24);
  const DevicePtr alias = *pool->Alias(slot);
  EXPECT_EQ(pool->used(), MiB(16));
  EXPECT_EQ(pool->available(), MiB(48));
  pool->Release(slot);
  EXPECT_EQ(pool->used(), Bytes(0));
  EXPECT_EQ(pool->cached(), MiB(16));
  EXPECT_EQ(pool->available(), MiB(64));
  EXPECT_EQ(MustAcquire(*pool, 24), slot);
  EXPECT_EQ(*pool->Alias(slot), alias);
  EXPECT_EQ(call_count_("cuMemCreate"), 1);
  EXPECT_EQ(call_count_("cuMemMap"), 1);
  EXPECT_EQ(pool->cached(), Bytes(0));
}

TEST_F(DevicePoolTest, WhatOthersMayHaveIsNobodyElsesAfterwards) {
  const auto pool = Make(MiB(64));
  const uint32_t slot = MustAcquire(*pool, 22);
  const CUmemGenericAllocationHandle plain = pool->handle(slot);
  EXPECT_NE(*pool->Alias(slot), DevicePtr());
  EXPECT_FALSE(pool->shareable(slot));
  const auto made = pool->MakeShareable(22);
  ASSERT_TRUE(made.ok()) << made.status();
  pool->BecomeShareable(slot, *made);
  EXPECT_TRUE(pool->shareable(slot));
  EXPECT_NE(pool->handle(slot), plain);
  EXPECT_EQ(pool->handle(slot), made->handle);
  EXPECT_EQ(*pool->Alias(slot), made->alias);
  EXPECT_EQ(pool->used(), MiB(4));
  EXPECT_EQ(call_count_("cuMemRelease"), 1) << "what it was";
  pool->Release(slot);
  EXPECT_EQ(pool->used(), Bytes(0));
  EXPECT_EQ(pool->cached(), Bytes(0)) << "it is the driver's again";
  EXPECT_EQ(call_count_("cuMemRelease"), 2);
  const uint32_t next = MustAcquire(*pool, 22);
  EXPECT_FALSE(pool->shareable(next));
  EXPECT_EQ(call_count_("cuMemCreate"), 3);
  const auto unused = pool->MakeShareable(22);
  ASSERT_TRUE(unused.ok()) << unused.status();
  pool->DropShareable(22, *unused);
  EXPECT_EQ(call_count_("cuMemRelease"), 3);
  EXPECT_EQ(pool->used(), MiB(4));
}

TEST_F(DevicePoolTest, TheAliasReachesTheHandlesMemory) {
  const auto pool = Make(MiB(64));
  const uint32_t slot = MustAcquire(*pool, 22);
  const DevicePtr alias = *pool->Alias(slot);
  CUdeviceptr other = 0;
  ASSERT_EQ((*driver_)->MemAddressReserve(&other, MiB(4).value, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ((*driver_)->MemMap(other, MiB(4).value, 0, pool->handle(slot), 0), CUDA_SUCCESS);
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = 0;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  ASSERT_EQ((*driver_)->MemSetAccess(other, MiB(4).value, &access, 1), CUDA_SUCCESS);
  ExpectSame(alias, DevicePtr(other), MiB(4), 0x5a);
  ASSERT_EQ((*driver_)->MemUnmap(other, MiB(4).value), CUDA_SUCCESS);
  ASSERT_EQ((*driver_)->MemAddressFree(other, MiB(4).value), CUDA_SUCCESS);
}

TEST_F(DevicePoolTest, AFullBudgetIsAnErrorThatNamesItAndItsUse) {
  const auto pool = Make(MiB(64));
  for (int i = 0; i < 3; ++i) MustAcquire(*pool, 24);
  MustAcquire(*pool, 23);
  const auto full = pool->Acquire(24);
  ASSERT_FALSE(full.ok());
  EXPECT_TRUE(absl::IsResourceExhausted(full.status()));
  EXPECT_EQ(ToCuResult(full.status()), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_THAT(std::string(full.status().message()), HasSubstr("device budget of 64 MiB: 56 MiB"));
  EXPECT_TRUE(pool->Acquire(23).ok());
}

TEST_F(DevicePoolTest, WhatTheDriverMayHaveGivenIsTheBudgetOrAllThatIsThere) {
  const auto pool = Make(MiB(64));
  EXPECT_EQ(pool->most(), MiB(64)) << "so much may be taken at any time";
  std::vector<uint32_t> slots;
  for (int i = 0; i < 4; ++i) slots.push_back(MustAcquire(*pool, 23));
  pool->Release(slots[0]);
  pool->SetBudget(MiB(16));
  EXPECT_EQ(pool->most(), MiB(24)) << "what is held stays; what was cached is the driver's";
  EXPECT_EQ(DeviceUsed(), pool->most());
  EXPECT_FALSE(pool->AwaitMost(MiB(16), std::chrono::milliseconds(1)));
  delay_("cuMemRelease", 200'000);
  std::thread releases([&] { pool->Release(slots[1]); });
  while (pool->used() != MiB(16)) std::this_thread::yield();
  EXPECT_TRUE(pool->AwaitMost(MiB(16), std::chrono::seconds(60)));
  EXPECT_EQ(DeviceUsed(), MiB(16)) << "the driver has it by then";
  releases.join();
  delay_("cuMemRelease", 0);
  pool->SetBudget(Bytes(0));
  pool->Release(slots[2]);
  pool->Release(slots[3]);
  EXPECT_TRUE(pool->AwaitMost(Bytes(0), std::chrono::milliseconds(0)));
  EXPECT_EQ(DeviceUsed(), Bytes(0));
  EXPECT_TRUE(absl::IsResourceExhausted(pool->Acquire(21).status()));
}

TEST_F(DevicePoolTest, WhoWaitsForLessHearsOfACreationThatFails) {
  const auto pool = Make(MiB(64));
  delay_("cuMemCreate", 300'000);
  ASSERT_EQ(fail_("cuMemCreate", 1, 1, CUDA_ERROR_OUT_OF_MEMORY), 0);
  const long long calls = call_count_("cuMemCreate");
  std::thread creates([&] { EXPECT_FALSE(pool->Acquire(23).ok()); });
  while (call_count_("cuMemCreate") == calls) std::this_thread::yield();
  pool->SetBudget(Bytes(0));
  const auto before = std::chrono::steady_clock::now();
  EXPECT_TRUE(pool->AwaitMost(Bytes(0), std::chrono::seconds(10)));
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(5));
  creates.join();
}

TEST_F(DevicePoolTest, RefusesSizesThatNoChunkHas) {
  const auto pool = Make(MiB(64));
  for (const int log2 : {-1, 0, 20, 27, 64}) {
    const auto slot = pool->Acquire(log2);
    EXPECT_TRUE(absl::IsInvalidArgument(slot.status())) << slot.status();
  }
}

TEST_F(DevicePoolTest, CachedSlotsOfOtherSizesMakeRoom) {
  const auto pool = Make(MiB(64));
  std::vector<uint32_t> slots;
  for (int i = 0; i < 32; ++i) slots.push_back(MustAcquire(*pool, 21));
  for (const uint32_t slot : slots) ASSERT_TRUE(pool->Alias(slot).ok());
  for (const uint32_t slot : slots) pool->Release(slot);
  EXPECT_EQ(pool->cached(), MiB(64));
  const uint32_t large = MustAcquire(*pool, 26);
  EXPECT_EQ(pool->cached(), Bytes(0));
  EXPECT_EQ(DeviceUsed(), MiB(64));
  pool->Release(large);
  // Only as much is destroyed as is needed: the 64 MiB slot goes, and nothing else was there.
  MustAcquire(*pool, 21);
  EXPECT_EQ(DeviceUsed(), MiB(2));
}

TEST_F(DevicePoolTest, ALoweredBudgetReturnsWhatIsCachedAndThenWhatIsReleased) {
  const auto pool = Make(MiB(64));
  const uint32_t a = MustAcquire(*pool, 24), b = MustAcquire(*pool, 24), c = MustAcquire(*pool, 24);
  pool->Release(c);
  pool->SetBudget(MiB(16));
  EXPECT_EQ(pool->budget(), MiB(16));
  EXPECT_EQ(DeviceUsed(), MiB(32));
  EXPECT_EQ(pool->available(), Bytes(0));
  EXPECT_FALSE(pool->Acquire(21).ok());
  pool->Release(a);
  EXPECT_EQ(DeviceUsed(), MiB(16));
  EXPECT_EQ(pool->cached(), Bytes(0));
  pool->Release(b);
  EXPECT_EQ(pool->cached(), MiB(16));
  pool->SetBudget(MiB(32));
  MustAcquire(*pool, 24);
  MustAcquire(*pool, 24);
}

TEST_F(DevicePoolTest, TrimKeepsAsMuchAsAskedFor) {
  const auto pool = Make(MiB(64));
  std::vector<uint32_t> slots;
  for (int i = 0; i < 8; ++i) slots.push_back(MustAcquire(*pool, 22));
  for (const uint32_t slot : slots) pool->Release(slot);
  pool->Trim(MiB(12));
  EXPECT_EQ(pool->cached(), MiB(12));
  EXPECT_EQ(DeviceUsed(), MiB(12));
  pool->Trim(MiB(40));
  EXPECT_EQ(pool->cached(), MiB(12));
  pool->Trim(Bytes(0));
  EXPECT_EQ(DeviceUsed(), Bytes(0));
}

TEST_F(DevicePoolTest, WhereTheDeviceHasLessThanTheBudgetSaysWhatIsCachedHelps) {
  const auto pool = Make(MiB(512));
  const uint32_t small = MustAcquire(*pool, 23);
  set_device_memory_(0, static_cast<unsigned long long>(memory_used_(0)));
  const auto full = pool->Acquire(22);
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(ToCuResult(full.status()), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_THAT(std::string(full.status().message()), HasSubstr("cuMemCreate(4 MiB of device"));
  EXPECT_THAT(std::string(full.status().message()), HasSubstr("lower the device budget"));
  pool->Release(small);
  MustAcquire(*pool, 22);
  EXPECT_EQ(pool->cached(), Bytes(0));
}

// Parks slots and releases them one at a time when the pool asks.
class DevicePoolParkTest : public DevicePoolTest {
 protected:
  void SetUp() override {
    DevicePoolOptions options;
    options.context = context_;
    options.budget = MiB(64);
    options.alias_space = GiB(64);
    options.reclaim = [this](int log2) -> StatusOr<bool> {
      if (!failure_.ok()) return failure_;
      for (size_t i = 0; i < parked_.size(); ++i) {
        if (log2 != 0 && log2 != parked_[i].log2) continue;
        pool_->Release(parked_[i].slot);
        parked_.erase(parked_.begin() + static_cast<std::ptrdiff_t>(i));
        return true;
      }
      return false;
    };
    pool_ = *DevicePool::Create(driver_, options);
  }
  uint32_t AcquireAndPark(int log2) {
    const uint32_t slot = MustAcquire(*pool_, log2);
    parked_.push_back({slot, log2});
    pool_->Park({slot});
    return slot;
  }
  // Four of 16 MiB: the whole budget.
  void FillAndPark() {
    for (int i = 0; i < 4; ++i) parked_.push_back({MustAcquire(*pool_, 24), 24});
    for (const Parked& p : parked_) pool_->Park({p.slot});
  }

  struct Parked {
    uint32_t slot;
    int log2;
  };
  Status failure_;
  std::vector<Parked> parked_;
  std::unique_ptr<DevicePool> pool_;
};

TEST_F(DevicePoolParkTest, CountsAsCachedAndComesBackAllOrNone) {
  const uint32_t a = AcquireAndPark(25);
  const uint32_t b = MustAcquire(*pool_, 24);
  pool_->Park({b});
  EXPECT_EQ(pool_->used(), Bytes(0));
  EXPECT_EQ(pool_->cached(), MiB(48));
  EXPECT_EQ(pool_->available(), MiB(64));
  EXPECT_TRUE(pool_->Unpark({a, b}));
  EXPECT_EQ(pool_->used(), MiB(48));
  EXPECT_EQ(pool_->cached(), Bytes(0));
  pool_->Park({a, b});
  const uint32_t c = MustAcquire(*pool_, 23);
  failure_ = absl::UnknownError("stays parked");
  pool_->SetBudget(MiB(40));
  EXPECT_FALSE(pool_->Unpark({a, b}));
  EXPECT_EQ(pool_->used(), MiB(8));
  EXPECT_TRUE(pool_->Unpark({a}));
  for (const uint32_t slot : {a, b, c}) pool_->Release(slot);
  EXPECT_EQ(pool_->used(), Bytes(0));
  EXPECT_EQ(pool_->cached(), DeviceUsed());
}

TEST_F(DevicePoolParkTest, ASlotOfTheSizeIsAskedForBeforeOneIsMade) {
  const uint32_t other = AcquireAndPark(24);
  const uint32_t slot = AcquireAndPark(22);
  EXPECT_EQ(call_count_("cuMemCreate"), 2);
  EXPECT_EQ(MustAcquire(*pool_, 22), slot);
  EXPECT_EQ(call_count_("cuMemCreate"), 2);
  ASSERT_EQ(parked_.size(), 1u);
  EXPECT_EQ(parked_[0].slot, other);
}

TEST_F(DevicePoolParkTest, AnySlotIsAskedForWhereRoomIsShort) {
  FillAndPark();
  MustAcquire(*pool_, 25);
  EXPECT_EQ(parked_.size(), 2u);
  EXPECT_EQ(DeviceUsed(), MiB(64));
  pool_->Trim(MiB(16));
  EXPECT_EQ(parked_.size(), 1u);
  EXPECT_EQ(DeviceUsed(), MiB(48));
  pool_->SetBudget(MiB(40));
  EXPECT_EQ(parked_.size(), 0u);
  EXPECT_EQ(DeviceUsed(), MiB(32));
}

TEST_F(DevicePoolParkTest, AnySlotIsAskedForWhereTheDeviceHasLess) {
  AcquireAndPark(24);
  set_device_memory_(0, static_cast<unsigned long long>(memory_used_(0)));
  MustAcquire(*pool_, 22);
  EXPECT_EQ(parked_.size(), 0u);
}

TEST_F(DevicePoolParkTest, AFailureToTakeOneApartIsTheCallersToKnow) {
  FillAndPark();
  failure_ = absl::UnknownError("cuMemUnmap of a parked chunk");
  for (const int log2 : {24, 25}) {
    const auto slot = pool_->Acquire(log2);
    ASSERT_FALSE(slot.ok());
    EXPECT_THAT(std::string(slot.status().message()), HasSubstr("cuMemUnmap of a parked chunk"));
  }
  failure_ = absl::OkStatus();
  MustAcquire(*pool_, 25);
  EXPECT_EQ(DeviceUsed(), MiB(64));
}

TEST_F(DevicePoolTest, ExportableHandlesCanBeExportedAndOthersCannot) {
  using Export = decltype(&cuMemExportToShareableHandle);
  const auto function = reinterpret_cast<Export>(driver_->Symbol("cuMemExportToShareableHandle"));
  ASSERT_NE(function, nullptr);
  const auto plain = Make(MiB(16)), exportable = Make(MiB(16), true);
  int fd = -1;
  EXPECT_NE(function(&fd, plain->handle(MustAcquire(*plain, 21)),
                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_SUCCESS);
  ASSERT_EQ(function(&fd, exportable->handle(MustAcquire(*exportable, 21)),
                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_SUCCESS);
  close(fd);
}

// Acquires with an alias, releases, and makes another size take its place: every call the pool
// makes.
Status UseEverything(DevicePool& pool) {
  for (const int log2 : {25, 24, 25}) {
    VS_ASSIGN_OR_RETURN(const uint32_t slot, pool.Acquire(log2));
    const Status alias = pool.Alias(slot).status();
    pool.Release(slot);
    VS_RETURN_IF_ERROR(alias);
  }
  return absl::OkStatus();
}

TEST_F(DevicePoolTest, AFailingCallIsNamedAndLeavesThePoolWhole) {
  SetLogThreshold(LogLevel::kOff);  // Some cannot be returned and are logged.
  for (const char* call : {"cuCtxPushCurrent", "cuThreadExchangeStreamCaptureMode", "cuMemCreate",
                           "cuMemMap", "cuMemSetAccess", "cuMemUnmap", "cuMemRelease"}) {
    for (const long long count : {1, -1}) {
      for (unsigned long long nth = 1; nth <= 3; ++nth) {
        SCOPED_TRACE(std::string(call) + " " + std::to_string(nth) + " " + std::to_string(count));
        // Two slots are destroyed on the way; every other exchange puts the thread's mode back,
        // which has no one to tell.
        const std::string_view name = call;
        bool reached = nth <= 2 || (name != "cuMemUnmap" && name != "cuMemRelease");
        if (name == "cuThreadExchangeStreamCaptureMode") reached = nth != 2 || count < 0;
        const auto pool = Make(MiB(32));
        ASSERT_EQ(fail_(call, nth, count, CUDA_ERROR_UNKNOWN), 0);
        const Status failed = UseEverything(*pool);
        EXPECT_EQ(failed.ok(), !reached);
        if (reached) {
          EXPECT_THAT(std::string(failed.message()), HasSubstr(call));
        }
        EXPECT_EQ(pool->used(), Bytes(0));
        EXPECT_EQ(pool->cached(), DeviceUsed());
        reset_();
        const Status after = UseEverything(*pool);
        EXPECT_TRUE(after.ok()) << after;
        EXPECT_LE(DeviceUsed(), MiB(32));
      }
    }
  }
  SetLogThreshold(LogLevel::kWarning);
}

TEST_F(DevicePoolTest, CreateReportsAFailingReservation) {
  fail_("cuMemAddressReserve", 1, -1, CUDA_ERROR_OUT_OF_MEMORY);
  DevicePoolOptions options;
  options.context = context_;
  options.budget = MiB(32);
  const auto pool = DevicePool::Create(driver_, options);
  ASSERT_FALSE(pool.ok());
  EXPECT_THAT(std::string(pool.status().message()), HasSubstr("cuMemAddressReserve"));
}

TEST_F(DevicePoolTest, ThreadsNeverTakeMoreThanTheBudget) {
  const auto pool = Make(MiB(96));
  std::atomic<int> got{0};
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      std::vector<uint32_t> mine;
      for (int i = 0; i < 300; ++i) {
        if (mine.empty() || random() % 2 == 0) {
          const auto slot = pool->Acquire(21 + static_cast<int>(random() % 6));
          if (slot.ok()) {
            mine.push_back(*slot);
            ++got;
            if (random() % 4 == 0) {
              EXPECT_TRUE(pool->Alias(*slot).ok());
            }
          } else {
            EXPECT_TRUE(absl::IsResourceExhausted(slot.status())) << slot.status();
          }
        } else {
          pool->Release(mine.back());
          mine.pop_back();
        }
        EXPECT_LE(DeviceUsed(), MiB(96));
      }
      for (const uint32_t slot : mine) pool->Release(slot);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(got, 100);
  EXPECT_EQ(pool->used(), Bytes(0));
  EXPECT_EQ(pool->cached(), DeviceUsed());
}

TEST_F(DevicePoolTest, TwoThreadsGetTheSameAlias) {
  const auto pool = Make(MiB(64));
  for (int i = 0; i < 20; ++i) {
    const uint32_t slot = MustAcquire(*pool, 21);
    DevicePtr first, second;
    std::thread other([&] { second = *pool->Alias(slot); });
    first = *pool->Alias(slot);
    other.join();
    EXPECT_EQ(first, second);
  }
}

}  // namespace
}  // namespace vramspan
