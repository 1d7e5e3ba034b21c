#include "runtime/observe/lookup_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace vramspan {
namespace {

TEST(LookupTable, FindsWhatWasPut) {
  std::vector<int> values(5000);
  LookupTable<int> table;
  EXPECT_EQ(table.Find(7), nullptr);
  for (size_t i = 0; i < values.size(); ++i) table.Put(64 * (i + 1), &values[i]);
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(table.Find(64 * (i + 1)), &values[i]) << i;
    ASSERT_EQ(table.Find(64 * (i + 1) + 1), nullptr);
  }
  table.Put(64, &values[9]);
  EXPECT_EQ(table.Find(64), &values[9]);
  table.Put(64, nullptr);
  EXPECT_EQ(table.Find(64), nullptr);
  EXPECT_EQ(table.Find(128), &values[1]);
  table.Clear();
  EXPECT_EQ(table.Find(128), nullptr);
  table.Put(128, &values[0]);
  EXPECT_EQ(table.Find(128), &values[0]);
}

TEST(LookupTable, KeysThatComeAndGoTakeNoRoom) {
  const int value = 0;
  LookupTable<int> table;
  table.Put(1, &value);
  for (uint64_t key = 2; key < 200000; ++key) {
    table.Put(key, &value);
    table.Put(key, nullptr);
  }
  EXPECT_EQ(table.Find(1), &value);
  EXPECT_EQ(table.Find(5), nullptr);
  EXPECT_LT(table.slots(), 4096u);
}

// A reader sees a key's own value or, while it is out, none; whatever else is written.
TEST(LookupTable, ReadersBesideAWriter) {
  std::vector<uint64_t> values(4000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = i + 1;
  LookupTable<uint64_t> table;
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      for (uint64_t key = 1; !done.load(); key = key % values.size() + 1) {
        const uint64_t* const value = table.Find(key);
        if (value != nullptr) {
          ASSERT_EQ(*value, key);
        }
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    for (uint64_t key = 1; key <= values.size(); key += 1 + round % 3) {
      table.Put(key, &values[key - 1]);
    }
    table.Clear();
  }
  done.store(true);
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace vramspan
