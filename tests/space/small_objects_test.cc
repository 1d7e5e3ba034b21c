#include "runtime/space/small_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace vramspan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr DevicePtr kObjectsBase(0x500000000000);

// Hands out chunks, lowest first, up to a limit, and knows which are out.
class FakeMemory {
 public:
  SmallObjects::Source source() {
    return {.take_chunk = [this]() -> StatusOr<DevicePtr> {
              if (out_.size() >= limit_) return absl::ResourceExhaustedError("no chunk left");
              DevicePtr p = kObjectsBase;
              for (const DevicePtr used : out_) {
                if (used != p) break;
                p = p + kGranularity;
              }
              out_.insert(p);
              most_ = std::max(most_, out_.size());
              return p;
            },
            .give_chunk = [this](DevicePtr p) { ASSERT_EQ(out_.erase(p), 1u); }};
  }
  void set_limit(size_t chunks) { limit_ = chunks; }
  size_t out() const { return out_.size(); }
  size_t most() const { return most_; }
  bool Covers(DevicePtr p, Bytes size) const {
    return out_.count(DevicePtr(p.value & ~(kGranularity.value - 1))) != 0 &&
           (p.value >> kMinChunkLog2) == ((p + size - Bytes(1)).value >> kMinChunkLog2);
  }

 private:
  std::set<DevicePtr> out_;
  size_t limit_ = ~size_t{0};
  size_t most_ = 0;
};

TEST(SmallObjects, TenThousandOf256BytesTakeTwoChunks) {
  FakeMemory memory;
  SmallObjects objects(memory.source());
  std::set<DevicePtr> seen;
  for (int i = 0; i < 10'000; ++i) {
    const DevicePtr p = objects.Allocate(Bytes(256)).value();
    ASSERT_EQ(p.value % 256, 0u);
    ASSERT_TRUE(seen.insert(p).second);
  }
  // 2.44 MiB of objects: two is the least that the granularity allows.
  EXPECT_EQ(memory.out(), 2u);
  EXPECT_EQ(objects.live_objects(), 10'000u);
  objects.CheckInvariants();
}

TEST(SmallObjects, ObjectsHaveRoomAndAreFoundFromAnyByte) {
  FakeMemory memory;
  SmallObjects objects(memory.source());
  for (const Bytes size : {Bytes(1), Bytes(256), Bytes(257), KiB(1), Bytes(1025), KiB(20), KiB(32),
                           KiB(32) + Bytes(1), KiB(64), KiB(65), KiB(512), MiB(1)}) {
    const DevicePtr p = objects.Allocate(size).value();
    const SmallObjects::Object object = objects.Find(p).value();
    EXPECT_EQ(object.base, p);
    EXPECT_GE(object.size, size);
    EXPECT_TRUE(memory.Covers(p, object.size));
    EXPECT_EQ(objects.Find(p + size - Bytes(1)).value().base, p);
    EXPECT_EQ(objects.Find(p + object.size - Bytes(1)).value().base, p);
  }
}

TEST(SmallObjects, AFullSlabIsUsedAgainWhenItHasRoom) {
  FakeMemory memory;
  memory.set_limit(1);
  SmallObjects objects(memory.source());
  std::vector<DevicePtr> all;
  for (auto p = objects.Allocate(Bytes(256)); p.ok(); p = objects.Allocate(Bytes(256))) {
    all.push_back(*p);
  }
  EXPECT_EQ(all.size(), kGranularity / Bytes(256));
  for (const size_t i : {0, 255, 256, 5'000, 8'191}) {
    ASSERT_TRUE(objects.Free(all[i]).ok());
    EXPECT_EQ(objects.Allocate(Bytes(256)).value(), all[i]);
  }
}

TEST(SmallObjects, EmptyChunksGoBackButOne) {
  FakeMemory memory;
  SmallObjects objects(memory.source());
  std::vector<DevicePtr> all;
  for (int i = 0; i < 20; ++i) all.push_back(objects.Allocate(MiB(1)).value());
  EXPECT_EQ(memory.out(), 10u);
  for (const DevicePtr p : all) ASSERT_TRUE(objects.Free(p).ok());
  EXPECT_EQ(memory.out(), 1u);
  EXPECT_EQ(objects.chunks(), 1u);
  objects.Trim();
  objects.Trim();
  EXPECT_EQ(memory.out(), 0u);
  EXPECT_TRUE(objects.Allocate(Bytes(8)).ok());
}

TEST(SmallObjects, TheEndGivesBackEverything) {
  FakeMemory memory;
  {
    SmallObjects objects(memory.source());
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(objects.Allocate(KiB(600)).ok());
    EXPECT_EQ(memory.out(), 10u);
  }
  EXPECT_EQ(memory.out(), 0u);
}

TEST(SmallObjects, AFullSourceIsAnErrorThatLeavesAllElseAlone) {
  FakeMemory memory;
  memory.set_limit(1);
  SmallObjects objects(memory.source());
  const DevicePtr whole = objects.Allocate(MiB(1)).value();
  const DevicePtr slot = objects.Allocate(Bytes(300)).value();
  EXPECT_EQ(objects.Allocate(MiB(1)).status().message(), "no chunk left");
  EXPECT_EQ(objects.live_objects(), 2u);
  objects.CheckInvariants();
  EXPECT_TRUE(objects.Free(whole).ok());
  EXPECT_TRUE(objects.Allocate(MiB(1)).ok());
  EXPECT_TRUE(objects.Free(slot).ok());
}

TEST(SmallObjects, DoubleFreesAreNamed) {
  FakeMemory memory;
  SmallObjects objects(memory.source());
  const DevicePtr keep = objects.Allocate(Bytes(256)).value();
  for (const Bytes size : {Bytes(256), KiB(100)}) {
    const DevicePtr p = objects.Allocate(size).value();
    ASSERT_TRUE(objects.Free(p).ok());
    const Status again = objects.Free(p);
    EXPECT_EQ(again.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(again.message()),
                AllOf(HasSubstr("0x5000000"), HasSubstr("freed before")));
  }
  EXPECT_EQ(objects.live_objects(), 1u);
  EXPECT_TRUE(objects.Free(keep).ok());
}

TEST(SmallObjects, InteriorFreesAreNamed) {
  FakeMemory memory;
  SmallObjects objects(memory.source());
  const DevicePtr slot = objects.Allocate(KiB(1)).value();
  const DevicePtr whole = objects.Allocate(KiB(200)).value();
  for (const DevicePtr p :
       {slot + Bytes(256), slot + Bytes(1), whole + KiB(64), whole + Bytes(256)}) {
    const Status status = objects.Free(p);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("bytes into the one at 0x"));
  }
  EXPECT_THAT(
      std::string(objects.Free(slot + Bytes(256)).message()),
      AllOf(HasSubstr("0x500000000100"), HasSubstr("256 bytes into"), HasSubstr("0x500000000000")));
  EXPECT_TRUE(objects.Find(slot).ok());
  EXPECT_TRUE(objects.Find(whole).ok());
}

TEST(SmallObjects, ForeignPointersAreNamed) {
  FakeMemory memory;
  SmallObjects objects(memory.source());
  const DevicePtr p = objects.Allocate(Bytes(256)).value();
  for (const DevicePtr foreign : {p + Bytes(256), p + KiB(64), p + MiB(2), DevicePtr(0x1000)}) {
    const Status status = objects.Free(foreign);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("never given out"));
    EXPECT_EQ(objects.Find(foreign).status().code(), absl::StatusCode::kNotFound);
  }
  EXPECT_THAT(std::string(objects.Free(DevicePtr(0x1000)).message()), HasSubstr("0x1000"));
}

// 64 KiB hold nine objects of 7 KiB; what is left at the end of the slab is nobody's.
TEST(SmallObjects, TheTailOfASlabIsNobodys) {
  FakeMemory memory;
  SmallObjects objects(memory.source());
  std::vector<DevicePtr> all;
  for (int i = 0; i < 10; ++i) all.push_back(objects.Allocate(KiB(7)).value());
  EXPECT_EQ(all[8], kObjectsBase + KiB(56));
  EXPECT_EQ(all[9], kObjectsBase + KiB(64));
  EXPECT_EQ(objects.Find(kObjectsBase + KiB(63)).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(objects.Free(kObjectsBase + KiB(63)).ok());
}

TEST(SmallObjects, AMillionObjectsNeedLittleMetadata) {
  FakeMemory memory;
  SmallObjects objects(memory.source());
  std::vector<DevicePtr> all;
  for (int i = 0; i < 1'000'000; ++i) all.push_back(objects.Allocate(Bytes(1 + i % 512)).value());
  EXPECT_EQ(objects.live_objects(), all.size());
  EXPECT_LT(objects.metadata_bytes() / all.size(), 2u);
  for (const DevicePtr p : all) ASSERT_TRUE(objects.Free(p).ok());
  EXPECT_EQ(memory.out(), 1u);
}

TEST(SmallObjects, MetadataIsWithin128BytesForTheLargestToo) {
  for (const Bytes size : {KiB(8), KiB(32), KiB(33), KiB(512), MiB(1)}) {
    FakeMemory memory;
    SmallObjects objects(memory.source());
    size_t worst = 0;
    for (size_t i = 0; i < 5'000; ++i) {
      ASSERT_TRUE(objects.Allocate(size).ok());
      // With few of them, nobody minds.
      if (i >= 1000) worst = std::max(worst, objects.metadata_bytes() / (i + 1));
    }
    EXPECT_LE(worst, 128u) << size.value;
  }
}

class SmallObjectsProperty : public ::testing::TestWithParam<int> {};

TEST_P(SmallObjectsProperty, NeverOverlapsAndReturnsEverything) {
  std::mt19937_64 random(GetParam());
  FakeMemory memory;
  memory.set_limit(24);
  SmallObjects objects(memory.source());
  std::map<DevicePtr, Bytes> live;
  std::vector<DevicePtr> order;
  size_t refused = 0;
  for (int i = 0; i < 30'000; ++i) {
    // Grows and shrinks in turns, so that chunks come and go.
    if (order.empty() || random() % 100 < (i / 3'000 % 2 == 0 ? 65u : 35u)) {
      const int log2 = random() % 4 != 0 ? random() % 13 : random() % 20;
      const Bytes size(1 + random() % (uint64_t{2} << log2));
      const auto p = objects.Allocate(size);
      if (!p.ok()) {
        ++refused;
        continue;
      }
      ASSERT_EQ(p->value % 256, 0u);
      const Bytes room = objects.Find(*p).value().size;
      ASSERT_GE(room, size);
      ASSERT_TRUE(memory.Covers(*p, room));
      const auto after = live.lower_bound(*p);
      ASSERT_TRUE(after == live.end() || *p + room <= after->first);
      ASSERT_TRUE(after == live.begin() ||
                  std::prev(after)->first + std::prev(after)->second <= *p);
      live.emplace(*p, room);
      order.push_back(*p);
    } else {
      std::swap(order[random() % order.size()], order.back());
      const DevicePtr p = order.back();
      order.pop_back();
      const Bytes inside(1 + random() % (live.at(p).value - 1));
      ASSERT_EQ(objects.Free(p + inside).code(), absl::StatusCode::kInvalidArgument);
      ASSERT_EQ(objects.Find(p + inside).value().base, p);
      live.erase(p);
      ASSERT_TRUE(objects.Free(p).ok());
      ASSERT_EQ(objects.Free(p).code(), absl::StatusCode::kInvalidArgument);
      ASSERT_FALSE(objects.Find(p).ok());
    }
    ASSERT_EQ(objects.live_objects(), live.size());
    if (i % 512 == 0) objects.CheckInvariants();
  }
  for (const DevicePtr p : order) ASSERT_TRUE(objects.Free(p).ok());
  EXPECT_EQ(objects.live_objects(), 0u);
  EXPECT_LE(memory.out(), 1u);
  EXPECT_GT(memory.most(), 4u);
  EXPECT_EQ(refused == 0, memory.most() < 24);
}
INSTANTIATE_TEST_SUITE_P(Seeds, SmallObjectsProperty, ::testing::Range(1, 9));

}  // namespace
}  // namespace vramspan
