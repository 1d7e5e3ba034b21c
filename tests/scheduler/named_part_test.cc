// How much of a chunk work names.
#include "runtime/scheduler/named_part.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/scheduler/work.h"

namespace vramspan {
namespace {

TEST(NamedPartTest, IsNeverTooLittleAndHardlyTooMuch) {
  for (uint64_t bytes = 1; bytes < uint64_t{1} << 27; bytes += 1 + bytes / 50) {
    const Bytes told = NamedPart::Of(Bytes(bytes)).In(GiB(1));
    EXPECT_GE(told.value, bytes);
    EXPECT_LE(told.value, std::max<uint64_t>(4096, bytes + bytes / 16 + 256)) << bytes;
  }
}

TEST(NamedPartTest, PowersOfTwoAreExact) {
  for (uint64_t bytes = 4096; bytes <= uint64_t{1} << 26; bytes *= 2) {
    EXPECT_EQ(NamedPart::Of(Bytes(bytes)).In(GiB(1)), Bytes(bytes));
  }
}

TEST(NamedPartTest, IsNoMoreThanTheChunk) {
  EXPECT_EQ(NamedPart().In(MiB(2)), MiB(2));
  EXPECT_EQ(NamedPart::Of(MiB(3)).In(MiB(2)), MiB(2));
  EXPECT_EQ(NamedPart::Of(GiB(64)).In(MiB(64)), MiB(64));
  EXPECT_EQ(NamedPart::Of(Bytes(UINT64_MAX)).In(MiB(64)), MiB(64));
}

TEST(NamedPartTest, AddsUp) {
  NamedPart part = NamedPart::Of(MiB(4));
  part.Add(NamedPart::Of(MiB(12)));
  EXPECT_EQ(part.In(MiB(64)), MiB(16));
  part.Add(NamedPart());
  EXPECT_EQ(part.In(MiB(64)), MiB(64));
}

// A launch that names an array may reach all of its allocation.
TEST(NamedPartTest, WhatIsPossibleIsNotNamed) {
  const Use array{.part = NamedPart::Of(KiB(16))}, allocation{.possible = true};
  Use use = array;
  use.Add(allocation);
  EXPECT_EQ(use.part.In(MiB(64)), KiB(16));
  use = allocation;
  use.Add(array);
  EXPECT_EQ(use.part.In(MiB(64)), KiB(16));
  use.Add(array);
  EXPECT_EQ(use.part.In(MiB(64)), KiB(32));
}

TEST(NamedPartTest, AnyCodeIsSomePart) {
  for (int code = 0; code < 256; ++code) {
    const NamedPart part = NamedPart::FromCode(static_cast<uint8_t>(code));
    EXPECT_EQ(part.code(), code);
    EXPECT_GE(part.In(MiB(64)), KiB(4));
    EXPECT_LE(part.In(MiB(64)), MiB(64));
    if (code != 0) {
      EXPECT_EQ(NamedPart::Of(part.In(GiB(1))).code(), code);
    }
  }
}

}  // namespace
}  // namespace vramspan
