// Arrays from copies, in plain numbers.
#include "runtime/observe/uploads.h"

#include <gtest/gtest.h>

namespace vramspan {
namespace {

class UploadsTest : public testing::Test {
 protected:
  bool Add(uint64_t begin, uint64_t end) { return uploads_.Add(begin, Bytes(end - begin)); }
  uint64_t SizeAt(uint64_t offset) const { return uploads_.SizeAt(offset).value; }

  Uploads uploads_;
};

constexpr uint64_t kFar = 1 << 20;

TEST_F(UploadsTest, EachIsAnArray) {
  EXPECT_TRUE(Add(kFar, 2 * kFar));
  EXPECT_TRUE(Add(4 * kFar, 5 * kFar));
  EXPECT_TRUE(Add(2 * kFar, 3 * kFar));
  EXPECT_EQ(SizeAt(0), 0u);
  EXPECT_EQ(SizeAt(kFar), kFar);
  EXPECT_EQ(SizeAt(kFar + 256), 0u) << "it begins elsewhere";
  EXPECT_EQ(SizeAt(2 * kFar), kFar);
  EXPECT_EQ(SizeAt(3 * kFar), 0u);
  EXPECT_EQ(SizeAt(4 * kFar), kFar);
}

TEST_F(UploadsTest, SmallOnesAreNone) {
  EXPECT_FALSE(Add(0, Uploads::kLeast.value - 1));
  EXPECT_TRUE(Add(0, Uploads::kLeast.value));
}

TEST_F(UploadsTest, WhatIsWrittenAgainIsNone) {
  for (uint64_t i = 0; i < 8; ++i) Add(i * kFar, (i + 1) * kFar);
  EXPECT_TRUE(Add(0, kFar));
  EXPECT_EQ(SizeAt(0), 0u) << "as it was";
  EXPECT_FALSE(Add(0, kFar)) << "nothing new";
  EXPECT_TRUE(Add(2 * kFar + 4096, 2 * kFar + 8192));
  EXPECT_EQ(SizeAt(2 * kFar), 0u) << "a part of it";
  EXPECT_EQ(SizeAt(2 * kFar + 4096), 0u);
  EXPECT_TRUE(Add(4 * kFar + 4096, 6 * kFar - 4096));
  EXPECT_EQ(SizeAt(4 * kFar), 0u) << "across two";
  EXPECT_EQ(SizeAt(5 * kFar), 0u);
  for (const uint64_t i : {1, 3, 6, 7}) EXPECT_EQ(SizeAt(i * kFar), kFar) << i;
  EXPECT_TRUE(Add(0, 9 * kFar));
  EXPECT_EQ(SizeAt(0), 0u);
}

TEST_F(UploadsTest, FillWhatTheyAreNearlyAllOf) {
  for (uint64_t i = 0; i < 3; ++i) Add(i * kFar, (i + 1) * kFar);
  EXPECT_TRUE(uploads_.Fill(Bytes(4 * kFar)));
  EXPECT_FALSE(uploads_.Fill(Bytes(5 * kFar)));
  Add(0, kFar);
  EXPECT_FALSE(uploads_.Fill(Bytes(4 * kFar))) << "that is none any more";
  Add(3 * kFar, 4 * kFar);
  EXPECT_TRUE(uploads_.Fill(Bytes(4 * kFar)));
}

TEST_F(UploadsTest, AreBounded) {
  const uint64_t size = Uploads::kLeast.value;
  for (uint64_t i = 0; i < Uploads::kMost; ++i) ASSERT_TRUE(Add(2 * i * size, (2 * i + 1) * size));
  EXPECT_FALSE(Add((2 * Uploads::kMost + 1) * size, (2 * Uploads::kMost + 2) * size));
  EXPECT_TRUE(Add(0, 2 * size)) << "in place of one";
}

}  // namespace
}  // namespace vramspan
