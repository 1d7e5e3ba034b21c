// Arrays from copies, in plain numbers.
#include "runtime/observe/uploads.h"

#include <gtest/gtest.h>

namespace vramspan {
namespace {

class UploadsTest : public testing::Test {
 protected:
  bool Add(uint64_t begin, uint64_t end) { return uploads_.Add(begin, Bytes(end - begin)); }
  void Expect(uint64_t offset, uint64_t begin, uint64_t end) const {
    const Uploads::Array array = uploads_.At(offset);
    EXPECT_EQ(array.begin, begin) << offset;
    EXPECT_EQ(array.end, end) << offset;
  }
  void ExpectNone(uint64_t offset) const { EXPECT_FALSE(uploads_.At(offset).any()) << offset; }

  Uploads uploads_;
};

constexpr uint64_t kFar = 1 << 20;

TEST_F(UploadsTest, EachIsAnArray) {
  EXPECT_TRUE(Add(kFar, 2 * kFar));
  EXPECT_TRUE(Add(4 * kFar, 5 * kFar));
  EXPECT_TRUE(Add(2 * kFar, 3 * kFar));
  ExpectNone(0);
  ExpectNone(kFar - 1);
  Expect(kFar, kFar, 2 * kFar);
  Expect(2 * kFar - 1, kFar, 2 * kFar);
  Expect(2 * kFar, 2 * kFar, 3 * kFar);
  ExpectNone(3 * kFar);
  Expect(4 * kFar, 4 * kFar, 5 * kFar);
  ExpectNone(5 * kFar);
}

TEST_F(UploadsTest, SmallOnesAreNone) {
  EXPECT_FALSE(Add(0, Uploads::kLeast.value - 1));
  EXPECT_TRUE(Add(0, Uploads::kLeast.value));
}

TEST_F(UploadsTest, APartOfAnEarlierOneChangesNothing) {
  Add(0, kFar);
  EXPECT_FALSE(Add(0, kFar));
  EXPECT_FALSE(Add(0, kFar / 2));
  EXPECT_FALSE(Add(kFar / 2, kFar));
  Expect(0, 0, kFar);
}

TEST_F(UploadsTest, OthersTakeThePlaceOfWhatTheyOverlap) {
  for (uint64_t i = 0; i < 8; ++i) Add(i * kFar, (i + 1) * kFar);
  EXPECT_TRUE(Add(kFar + kFar / 2, 4 * kFar));
  Expect(0, 0, kFar);
  ExpectNone(kFar);
  Expect(3 * kFar, kFar + kFar / 2, 4 * kFar);
  Expect(4 * kFar, 4 * kFar, 5 * kFar);
  EXPECT_TRUE(Add(0, 9 * kFar));
  Expect(7 * kFar, 0, 9 * kFar);
}

TEST_F(UploadsTest, AnArrayHasThePaddingBehindIt) {
  Add(0, kFar - 64);
  Expect(0, 0, kFar - 64);
  ExpectNone(kFar - 1);
  Add(kFar, 2 * kFar);
  Expect(0, 0, kFar);
  Add(2 * kFar + Uploads::kPadding.value + 1, 3 * kFar);
  Expect(kFar, kFar, 2 * kFar);
}

TEST_F(UploadsTest, AreBounded) {
  const uint64_t size = Uploads::kLeast.value;
  for (uint64_t i = 0; i < Uploads::kMost; ++i) ASSERT_TRUE(Add(2 * i * size, (2 * i + 1) * size));
  EXPECT_FALSE(Add((2 * Uploads::kMost + 1) * size, (2 * Uploads::kMost + 2) * size));
  EXPECT_TRUE(Add(0, 2 * size)) << "in place of one";
}

}  // namespace
}  // namespace vramspan
