#include "runtime/observe/lookup_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace vramspan {
namespace {

using Value = LookupTable::Value;

TEST(LookupTable, FindsWhatWasPut) {
  LookupTable table;
  EXPECT_FALSE(table.Find(7));
  EXPECT_FALSE(table.Find(0));
  for (uint64_t i = 1; i <= 5000; ++i) table.Put(64 * i, {i, 2 * i});
  for (uint64_t i = 1; i <= 5000; ++i) {
    ASSERT_EQ(table.Find(64 * i), (Value{i, 2 * i}));
    ASSERT_FALSE(table.Find(64 * i + 1));
  }
  table.Put(64, {0, 9});
  EXPECT_EQ(table.Find(64), (Value{0, 9}));
  table.Put(64, {});
  EXPECT_FALSE(table.Find(64));
  EXPECT_EQ(table.Find(128), (Value{2, 4}));
  table.Clear();
  EXPECT_FALSE(table.Find(128));
  table.Put(128, {3, 3});
  EXPECT_EQ(table.Find(128), (Value{3, 3}));
}

TEST(LookupTable, KeysThatComeAndGoTakeNoRoom) {
  LookupTable table;
  table.Put(1, {7, 7});
  for (uint64_t key = 2; key < 200000; ++key) {
    table.Put(key, {key, key});
    table.Put(key, {});
  }
  EXPECT_EQ(table.Find(1), (Value{7, 7}));
  EXPECT_FALSE(table.Find(5));
  EXPECT_LT(table.slots(), 4096u);
}

// A reader sees a key's own value as a whole or, while it is out, none; whatever else is written.
TEST(LookupTable, ReadersBesideAWriter) {
  constexpr uint64_t kKeys = 4000;
  LookupTable table;
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      for (uint64_t key = 1; !done.load(); key = key % kKeys + 1) {
        const Value value = table.Find(key);
        if (!value) continue;
        ASSERT_EQ(value.first % kKeys, key % kKeys);
        ASSERT_EQ(value.second, value.first + 1);
      }
    });
  }
  for (uint64_t round = 0; round < 20; ++round) {
    for (uint64_t key = 1; key <= kKeys; key += 1 + round % 3) {
      table.Put(key, {key + round * kKeys, key + round * kKeys + 1});
    }
    if (round % 4 == 3) table.Clear();
  }
  done.store(true);
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace vramspan
