#include "runtime/space/arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/driver/stub_driver.h"

namespace vramspan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr DevicePtr kArenaBase(0x300000000000);

class ArenaOnDriver : public ::testing::Test {
 protected:
  void SetUp() override { stub_ = StubState(); }

  std::shared_ptr<const Driver> driver_ = Driver::Load(kStubDriver).value();
  StubState& stub_ = StateOf(*driver_);
};

TEST_F(ArenaOnDriver, ReservesOnceAndGivesBack) {
  {
    const auto arena = Arena::Create(driver_, GiB(64)).value();
    EXPECT_EQ(arena->size(), GiB(64));
    EXPECT_EQ(arena->free_bytes(), GiB(64));
    EXPECT_EQ(stub_.reserved, GiB(64).value);
    const DevicePtr p = arena->Take(MiB(64), MiB(64)).value();
    EXPECT_EQ(p.value % MiB(64).value, 0u);
    EXPECT_GE(p, arena->base());
    EXPECT_EQ(stub_.reserve_calls, 1);
  }
  EXPECT_EQ(stub_.reserved, 0u);
}

TEST_F(ArenaOnDriver, HalvesWhereTheDriverRefuses) {
  stub_.reserve_limit = GiB(300).value;
  const auto arena = Arena::Create(driver_, GiB(1024)).value();
  EXPECT_EQ(arena->size(), GiB(256));
  EXPECT_EQ(stub_.reserve_calls, 5 + 5 + 1);  // Four addresses, and anywhere.
}

TEST_F(ArenaOnDriver, EndsHalvingAtTheSmallestArena) {
  stub_.reserve_limit = GiB(64).value;
  EXPECT_EQ(Arena::Create(driver_, GiB(96) + MiB(64)).value()->size(), GiB(64));
}

TEST_F(ArenaOnDriver, NamesBothSizesWhenNothingIsLeft) {
  stub_.reserve_limit = GiB(1).value;
  const Status status = Arena::Create(driver_, GiB(256)).status();
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("cuMemAddressReserve"), HasSubstr("274877906944"),
                    HasSubstr("68719476736"), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY")));
  EXPECT_EQ(ToCuResult(status), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(stub_.reserve_calls, 3 * 5);
}

// In the parameters of a kernel two small integers read as an address just above 2^40, where the
// driver begins by itself.
TEST_F(ArenaOnDriver, LiesWhereIntegersDoNotPoint) {
  const auto arena = Arena::Create(driver_, GiB(4096)).value();
  const uint64_t high = arena->base().value >> 32;
  EXPECT_GT(high, 4096u);
  EXPECT_NE(high % 2, 0u);
}

TEST_F(ArenaOnDriver, LiesElsewhereWhereTheDriverGrantsNoAddress) {
  stub_.grants_addresses = false;
  {
    const auto arena = Arena::Create(driver_, GiB(64)).value();
    EXPECT_EQ(arena->base(), DevicePtr(stub_.reserve_base));
    EXPECT_EQ(stub_.reserved, GiB(64).value);
  }
  EXPECT_EQ(stub_.reserved, 0u);
}

TEST_F(ArenaOnDriver, DoesNotHalveWhatNoSizeWouldMend) {
  stub_.reserve_result = CUDA_ERROR_DEINITIALIZED;
  const Status status = Arena::Create(driver_, GiB(256)).status();
  EXPECT_EQ(ToCuResult(status), CUDA_ERROR_DEINITIALIZED);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cuMemAddressReserve(274877906944 bytes)"));
  EXPECT_EQ(stub_.reserve_calls, 1);
}

TEST_F(ArenaOnDriver, ASmallArenaIsTriedOnce) {
  stub_.reserve_limit = MiB(64).value;
  EXPECT_FALSE(Arena::Create(driver_, GiB(1)).ok());
  EXPECT_EQ(stub_.reserve_calls, 5);
}

TEST_F(ArenaOnDriver, GivesBackAReservationThatIsNotAligned) {
  stub_.grants_addresses = false;
  stub_.reserve_base += KiB(64).value;
  const Status status = Arena::Create(driver_, GiB(64)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("0x700000010000"));
  EXPECT_EQ(stub_.reserved, 0u);
}

TEST_F(ArenaOnDriver, RefusesOddSizes) {
  for (const Bytes size : {Bytes(0), MiB(2), GiB(64) + MiB(2)}) {
    const Status status = Arena::Create(driver_, size).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::to_string(size.value)));
  }
  EXPECT_EQ(stub_.reserve_calls, 0);
}

TEST(Arena, FullNamesSizeAndLargestHole) {
  const auto arena = Arena::Over(kArenaBase, MiB(128));
  const DevicePtr first = arena->Take(MiB(32), MiB(2)).value();
  ASSERT_TRUE(arena->Take(MiB(32), MiB(2)).ok());
  arena->Give(first, MiB(32));
  EXPECT_EQ(arena->free_bytes(), MiB(96));
  const Status status = arena->Take(MiB(96), MiB(2)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("100663296"), HasSubstr("134217728"), HasSubstr("67108864")));
}

TEST(Arena, RefusesOddRequests) {
  const auto arena = Arena::Over(kArenaBase, GiB(1));
  EXPECT_EQ(arena->Take(Bytes(0), MiB(2)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(arena->Take(MiB(1), MiB(2)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(arena->Take(MiB(2), MiB(1)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(arena->Take(MiB(2), MiB(6)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(arena->Take(Bytes(~uint64_t{0} << 21), MiB(2)).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(arena->free_bytes(), GiB(1));
}

TEST(ArenaDeathTest, StopsWhatWasNotTaken) {
  const auto arena = Arena::Over(kArenaBase, GiB(1));
  const DevicePtr p = arena->Take(MiB(4), MiB(2)).value();
  EXPECT_DEATH(arena->Give(kArenaBase + GiB(1), MiB(2)), "broken invariant");
  EXPECT_DEATH(arena->Give(p, MiB(6)), "broken invariant");
  arena->Give(p, MiB(4));
  EXPECT_DEATH(arena->Give(p, MiB(4)), "broken invariant");
}

class ArenaProperty : public ::testing::TestWithParam<int> {};

TEST_P(ArenaProperty, RangesNeverOverlapAndAllComesBack) {
  std::mt19937_64 random(GetParam());
  const auto arena = Arena::Over(kArenaBase + MiB(2), GiB(8));
  std::vector<bool> used(GiB(8) / kGranularity);
  std::vector<std::pair<DevicePtr, Bytes>> taken;
  const auto mark = [&](DevicePtr p, Bytes size, bool value) {
    const uint64_t first = (p - arena->base()) / kGranularity;
    for (uint64_t i = first; i < first + size / kGranularity; ++i) {
      ASSERT_NE(used.at(i), value);
      used[i] = value;
    }
  };
  for (int i = 0; i < 10'000; ++i) {
    if (taken.empty() || random() % 100 < 55) {
      const Bytes size = kGranularity * (1 + random() % 64);
      const Bytes alignment = kGranularity * (1u << (random() % 6));
      const auto p = arena->Take(size, alignment);
      if (!p.ok()) continue;
      ASSERT_EQ(p->value % alignment.value, 0u);
      ASSERT_NO_FATAL_FAILURE(mark(*p, size, true));
      taken.emplace_back(*p, size);
    } else {
      std::swap(taken[random() % taken.size()], taken.back());
      const auto [p, size] = taken.back();
      taken.pop_back();
      ASSERT_NO_FATAL_FAILURE(mark(p, size, false));
      arena->Give(p, size);
    }
  }
  for (const auto& [p, size] : taken) arena->Give(p, size);
  EXPECT_EQ(arena->free_bytes(), GiB(8));
  EXPECT_EQ(arena->holes().count(), 1u);
}
INSTANTIATE_TEST_SUITE_P(Seeds, ArenaProperty, ::testing::Range(1, 5));

}  // namespace
}  // namespace vramspan
