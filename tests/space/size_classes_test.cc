#include "runtime/space/size_classes.h"

#include <gtest/gtest.h>

namespace vramspan {
namespace {

TEST(SizeClasses, EverySizeGetsTheSmallestClassThatHoldsIt) {
  for (uint64_t bytes = 1; bytes <= kMaxClassBytes.value; ++bytes) {
    const int size_class = ClassFor(Bytes(bytes));
    ASSERT_GE(ClassBytes(size_class).value, bytes);
    ASSERT_TRUE(size_class == 0 || ClassBytes(size_class - 1).value < bytes) << bytes;
  }
}

TEST(SizeClasses, WasteAtMostAFifthAboveOneKiB) {
  for (uint64_t bytes = KiB(1).value; bytes <= kMaxClassBytes.value; ++bytes) {
    const uint64_t room = ClassBytes(ClassFor(Bytes(bytes))).value;
    ASSERT_LE((room - bytes) * 5, room) << bytes;
  }
}

TEST(SizeClasses, AreMultiplesOf256) {
  for (int c = 0; c < kClassCount; ++c) EXPECT_EQ(ClassBytes(c).value % 256, 0u);
}

}  // namespace
}  // namespace vramspan
