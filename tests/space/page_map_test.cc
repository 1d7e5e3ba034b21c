#include "runtime/space/page_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace vramspan {
namespace {

using ::testing::HasSubstr;

constexpr DevicePtr kMapBase(0x200000000000);

TEST(PageMap, FindsEveryByteOfAChunkAndNothingElse) {
  const auto map = PageMap::Create(kMapBase, GiB(1)).value();
  const DevicePtr p = kMapBase + MiB(64);
  map->Set(p, MiB(16), ChunkIndex(5));
  EXPECT_EQ(map->Find(p), ChunkIndex(5));
  EXPECT_EQ(map->Find(p + Bytes(1)), ChunkIndex(5));
  EXPECT_EQ(map->Find(p + MiB(16) - Bytes(1)), ChunkIndex(5));
  EXPECT_EQ(map->Find(p - Bytes(1)), ChunkIndex());
  EXPECT_EQ(map->Find(p + MiB(16)), ChunkIndex());
  map->Set(p, MiB(16), ChunkIndex());
  EXPECT_EQ(map->Find(p), ChunkIndex());
}

TEST(PageMap, AnyAddressMayBeAskedFor) {
  // Just one page of entries, so that a step past the end leaves the mapping.
  const auto map = PageMap::Create(kMapBase, GiB(2)).value();
  map->Set(kMapBase, GiB(2), ChunkIndex(1));
  EXPECT_EQ(map->Find(DevicePtr()), ChunkIndex());
  EXPECT_EQ(map->Find(DevicePtr(~uint64_t{0})), ChunkIndex());
  EXPECT_EQ(map->Find(kMapBase - Bytes(1)), ChunkIndex());
  EXPECT_EQ(map->Find(kMapBase + GiB(2)), ChunkIndex());
  EXPECT_EQ(map->Find(kMapBase + GiB(2) - Bytes(1)), ChunkIndex(1));
  EXPECT_TRUE(map->Contains(kMapBase));
  EXPECT_TRUE(map->Contains(kMapBase + GiB(2) - Bytes(1)));
  EXPECT_FALSE(map->Contains(kMapBase + GiB(2)));
  EXPECT_FALSE(map->Contains(kMapBase - Bytes(1)));
}

TEST(PageMap, CoversTheLargestArena) {
  const Bytes size(uint64_t{1} << 46);
  const auto map = PageMap::Create(kMapBase, size).value();
  map->Set(kMapBase + size - MiB(2), MiB(2), ChunkIndex(~0u));
  EXPECT_EQ(map->Find(kMapBase + size - Bytes(1)), ChunkIndex(~0u));
  EXPECT_EQ(map->Find(kMapBase), ChunkIndex());
}

TEST(PageMap, RefusesRangesOffTheGranularity) {
  for (const auto& [base, size] :
       {std::pair(kMapBase + KiB(64), GiB(1)), std::pair(kMapBase, GiB(1) + Bytes(1)),
        std::pair(kMapBase, Bytes(0))}) {
    const Status status = PageMap::Create(base, size).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("multiples of 2 MiB"));
  }
}

TEST(PageMapDeathTest, StopsWritesOutsideOrUnaligned) {
  const auto map = PageMap::Create(kMapBase, GiB(1)).value();
  EXPECT_DEATH(map->Set(kMapBase + GiB(1), MiB(2), ChunkIndex(1)), "broken invariant");
  EXPECT_DEATH(map->Set(kMapBase - MiB(2), MiB(2), ChunkIndex(1)), "broken invariant");
  EXPECT_DEATH(map->Set(kMapBase, MiB(1), ChunkIndex(1)), "broken invariant");
}

TEST(PageMap, AgreesWithAModel) {
  std::mt19937_64 random(20240607);
  const auto map = PageMap::Create(kMapBase, GiB(4)).value();
  std::vector<uint32_t> model(GiB(4) / kGranularity);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t first = random() % model.size();
    const uint64_t count = 1 + random() % std::min<uint64_t>(32, model.size() - first);
    const ChunkIndex chunk(static_cast<uint32_t>(random() % 4 == 0 ? 0 : random()));
    map->Set(kMapBase + kGranularity * first, kGranularity * count, chunk);
    std::fill_n(model.begin() + first, count, chunk.value);
    for (int k = 0; k < 8; ++k) {
      const uint64_t offset = random() % GiB(4).value;
      ASSERT_EQ(map->Find(kMapBase + Bytes(offset)).value, model[offset >> kMinChunkLog2]);
    }
  }
}

// One writer moves a window of chunks; readers see the old entry or the new one, nothing else.
TEST(PageMap, LookupsRunBesideAWriter) {
  constexpr int kChunks = 64;
  const auto map = PageMap::Create(kMapBase, GiB(1)).value();
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> bad{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&, t] {
      std::mt19937_64 random(t);
      while (!stop.load(std::memory_order_relaxed)) {
        const uint32_t page = random() % kChunks;
        const uint32_t got = map->Find(kMapBase + kGranularity * page).value;
        if (got != 0 && got != page + 1) bad.fetch_add(1);
      }
    });
  }
  for (int round = 0; round < 2'000; ++round) {
    for (uint32_t page = 0; page < kChunks; ++page) {
      map->Set(kMapBase + kGranularity * page, kGranularity,
               ChunkIndex((round + page) % 2 == 0 ? page + 1 : 0));
    }
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(bad.load(), 0u);
}

}  // namespace
}  // namespace vramspan
