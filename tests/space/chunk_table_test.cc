#include "runtime/space/chunk_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace vramspan {
namespace {

using ::testing::HasSubstr;

TEST(ChunkTable, GivesOutDefaultChunksFromOneOn) {
  const auto table = ChunkTable::Create(8).value();
  const ChunkIndex first = table->Add().value();
  const ChunkIndex second = table->Add().value();
  EXPECT_EQ(first, ChunkIndex(1));
  EXPECT_EQ(second, ChunkIndex(2));
  EXPECT_EQ(table->end(), 3u);
  EXPECT_EQ(table->live(), 2u);
  EXPECT_EQ((*table)[first].state, ChunkState::kNone);
  EXPECT_EQ((*table)[first].device_slot, kNoSlot);
  EXPECT_EQ((*table)[first].host_slot, kNoSlot);
}

TEST(ChunkTable, UsesFreedEntriesAgainAsDefaults) {
  const auto table = ChunkTable::Create(8).value();
  const ChunkIndex a = table->Add().value();
  const ChunkIndex b = table->Add().value();
  (*table)[a].allocation = 7;
  (*table)[a].base = DevicePtr(MiB(64).value);
  table->Remove(a);
  EXPECT_EQ((*table)[a].state, ChunkState::kNone);
  EXPECT_EQ(table->live(), 1u);
  const ChunkIndex again = table->Add().value();
  EXPECT_EQ(again, a);
  EXPECT_EQ((*table)[again].allocation, 0u);
  EXPECT_EQ((*table)[again].base, DevicePtr());
  EXPECT_EQ((*table)[again].device_slot, kNoSlot);
  EXPECT_NE(table->Add().value(), b);
}

TEST(ChunkTable, SaysWhenItIsFull) {
  const auto table = ChunkTable::Create(3).value();
  std::set<uint32_t> seen;
  for (int i = 0; i < 3; ++i) seen.insert(table->Add().value().value);
  EXPECT_EQ(seen, (std::set<uint32_t>{1, 2, 3}));
  const Status status = table->Add().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("all 3 entries"));
  table->Remove(ChunkIndex(2));
  EXPECT_EQ(table->Add().value(), ChunkIndex(2));
}

TEST(ChunkTable, RefusesAbsurdCapacities) {
  EXPECT_EQ(ChunkTable::Create(0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ChunkTable::Create(~0u).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ChunkTable, ReferencesStayGoodWhileOthersComeAndGo) {
  const auto table = ChunkTable::Create(1 << 20).value();
  const ChunkIndex kept = table->Add().value();
  Chunk& chunk = (*table)[kept];
  chunk.host_slot = 42;
  std::vector<ChunkIndex> others;
  for (int i = 0; i < 100'000; ++i) others.push_back(table->Add().value());
  for (const ChunkIndex other : others) table->Remove(other);
  EXPECT_EQ(&chunk, &(*table)[kept]);
  EXPECT_EQ(chunk.host_slot, 42u);
  EXPECT_EQ(table->live(), 1u);
  EXPECT_EQ(table->end(), 100'002u);
}

TEST(ChunkTableDeathTest, StopsWhatWouldCorruptIt) {
  const auto table = ChunkTable::Create(4).value();
  const ChunkIndex chunk = table->Add().value();
  EXPECT_DEATH(table->Remove(ChunkIndex()), "broken invariant");
  EXPECT_DEATH(table->Remove(ChunkIndex(2)), "broken invariant");
  (*table)[chunk].state = ChunkState::kMoving;
  EXPECT_DEATH(table->Remove(chunk), "kMoving");
  (*table)[chunk].state = ChunkState::kHost;
  table->Remove(chunk);
  EXPECT_DEATH(table->Remove(chunk), "kFreeMark");
}

}  // namespace
}  // namespace vramspan
