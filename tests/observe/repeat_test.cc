// A launch that comes again: told by Repeat where it can be, else by Infer. Whatever comes between
// the launches, the answers are those of a second book that is asked by Infer alone, and so is all
// that later launches learn from it.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "runtime/observe/working_sets.h"

namespace vramspan {
namespace {

constexpr uint64_t kRepeatedFirst = 0x7000'0000'0000;
constexpr uint64_t kRepeatedStep = uint64_t{1} << 30;
constexpr uint64_t kRepeatedCount = 3;
constexpr Bytes kRepeatedSize = MiB(64);

// The last allocation is of blocks that were told.
constexpr Bytes kRepeatedBlock = MiB(16);

Extent FindRepeated(const Touch& touch) {
  const DevicePtr p = touch.ptr;
  const uint64_t offset = p.value - kRepeatedFirst;
  if (offset / kRepeatedStep >= kRepeatedCount || offset % kRepeatedStep >= kRepeatedSize.value) {
    return {};
  }
  Extent extent{DevicePtr(p.value - offset % kRepeatedStep), kRepeatedSize};
  if (offset / kRepeatedStep == kRepeatedCount - 1) {
    extent.block = DevicePtr(p.value - offset % kRepeatedBlock.value);
    extent.block_size = kRepeatedBlock;
  }
  return extent;
}

constexpr uint64_t PlaceAt(uint64_t offset, uint64_t allocation = 0) {
  return kRepeatedFirst + allocation * kRepeatedStep + offset;
}

bool SameAnswer(const std::vector<InferredRange>& a, const std::vector<InferredRange>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.ptr == y.ptr && x.size == y.size && x.likely == y.likely && x.settled == y.settled &&
           x.array == y.array && x.slot == y.slot;
  });
}

class Repeated : public testing::Test {
 protected:
  // A launch that may come again.
  struct Kind {
    uint64_t code;
    std::vector<uint64_t> pointers;
    uint64_t number = 0;
    WorkingSets::Repeatable again;
    std::vector<InferredRange> ranges;
  };

  void Launch(Kind* kind) {
    Submission s;
    s.kind = Submission::Kind::kKernel;
    s.code = reinterpret_cast<const void*>(kind->code);
    s.numbers = kind->number;
    s.trust = kind->code % 2 != 0 ? Trust::kArrays : Trust::kProven;
    s.words = {kind->number};
    for (const uint64_t p : kind->pointers) {
      s.touches.push_back({.ptr = DevicePtr(p), .linear = false});
    }
    if (sets_.Repeat(kind->again)) {
      ++repeats_;
    } else {
      sets_.Infer(s, possible_, FindRepeated, &kind->ranges, &kind->again);
    }
    std::vector<InferredRange> right;
    plain_.Infer(s, possible_, FindRepeated, &right);
    for (const InferredRange& r : right) arrays_ += r.array;
    ASSERT_TRUE(SameAnswer(kind->ranges, right)) << "after " << repeats_ << " that were repeated";
  }
  void Forget(uint64_t allocation) {
    sets_.Forget(DevicePtr(PlaceAt(0, allocation)));
    plain_.Forget(DevicePtr(PlaceAt(0, allocation)));
  }

  void Upload(uint64_t offset, uint64_t allocation, Bytes size) {
    for (WorkingSets* const sets : {&sets_, &plain_}) {
      sets->Uploaded({DevicePtr(PlaceAt(0, allocation)), kRepeatedSize},
                     DevicePtr(PlaceAt(offset, allocation)), size);
    }
  }

  WorkingSets sets_{MiB(1)}, plain_{MiB(1)};
  bool possible_ = true;
  int repeats_ = 0, arrays_ = 0;
};

TEST_F(Repeated, AsInferAnswers) {
  for (const bool possible : {true, false}) {
    possible_ = possible;
    std::mt19937_64 random(7);
    for (int program = 0; program < 12; ++program) {
      for (uint64_t i = 0; i < kRepeatedCount; ++i) Forget(i);
      // Loops over launches, some of them with another number each time, others now and then.
      std::vector<Kind> kinds(4 + random() % 12);
      const uint64_t places = 4 + random() % 40;
      for (Kind& kind : kinds) {
        kind.code = 1 + random() % 4;
        kind.number = random() % 3;
        for (uint64_t n = 1 + random() % 5; n > 0; --n) {
          uint64_t offset = random() % places * (kRepeatedSize.value / places & ~uint64_t{255});
          if (random() % 16 == 0) offset += 8;
          kind.pointers.push_back(PlaceAt(offset, random() % kRepeatedCount));
        }
      }
      const uint64_t step = kRepeatedSize.value / places & ~uint64_t{255};
      for (uint64_t i = 0; i < places; ++i) Upload(i * step, program % kRepeatedCount, Bytes(step));
      for (int launch = 0; launch < 20000; ++launch) {
        Kind& kind = kinds[static_cast<size_t>(launch) % kinds.size()];
        if (random() % 200 == 0) {
          kind.again = {};
          kind.number = random();
        }
        ASSERT_NO_FATAL_FAILURE(Launch(&kind)) << program << ": " << launch;
        if (random() % 2000 == 0) {
          Kind other{.code = 9,
                     .pointers = {PlaceAt(random() % kRepeatedSize.value & ~uint64_t{255})}};
          ASSERT_NO_FATAL_FAILURE(Launch(&other));
        }
        if (random() % 5000 == 0) Forget(random() % kRepeatedCount);
        if (random() % 1000 == 0) {
          Upload(random() % kRepeatedSize.value & ~uint64_t{255}, random() % kRepeatedCount,
                 Bytes(random() % MiB(2).value));
        }
      }
    }
  }
  EXPECT_GT(repeats_, 200000) << "what is tested is hardly used";
  EXPECT_GT(arrays_, 1000);
}

TEST_F(Repeated, ABoundaryLearntBetween) {
  Kind kind{.code = 1, .pointers = {PlaceAt(0)}};
  for (int i = 0; i < 3; ++i) Launch(&kind);
  EXPECT_EQ(repeats_, 2);
  Kind other{.code = 2, .pointers = {PlaceAt(MiB(8).value)}};
  Launch(&other);
  Launch(&kind);
  EXPECT_EQ(repeats_, 2);
  EXPECT_EQ(kind.ranges[0].size, MiB(8));
  // One that learns a new end is no answer to go by.
  for (int i = 0; i < 2; ++i) Launch(&kind);
  EXPECT_EQ(repeats_, 3);
}

// What ends an array is named by a launch that is repeated, and counts as named.
TEST_F(Repeated, KeepsWhatItNamesYoung) {
  Kind second{.code = 2, .pointers = {PlaceAt(MiB(8).value)}};
  Launch(&second);
  for (uint64_t i = 0; i < 4 * WorkingSets::kAlone; ++i) {
    // Another each time.
    Kind first{.code = 1, .pointers = {PlaceAt(0)}, .number = i};
    ASSERT_NO_FATAL_FAILURE(Launch(&first));
    ASSERT_NO_FATAL_FAILURE(Launch(&second));
    EXPECT_EQ(first.ranges[0].size, MiB(8));
  }
  EXPECT_GT(repeats_, 1000);
}

// A launch that goes past what nobody names any more says so by being repeated.
TEST_F(Repeated, CountsAsOneThatNamesItsEndNot) {
  Kind first{.code = 1, .pointers = {PlaceAt(0)}},
      second{.code = 2, .pointers = {PlaceAt(MiB(8).value)}};
  Launch(&second);
  for (uint32_t i = 0; i < 2 * WorkingSets::kAlone; ++i) ASSERT_NO_FATAL_FAILURE(Launch(&first));
  EXPECT_EQ(first.ranges[0].size, kRepeatedSize);
}

TEST_F(Repeated, AgesWhatItDoesNotName) {
  Kind first{.code = 1, .pointers = {PlaceAt(MiB(16).value)}};
  Kind second{.code = 2, .pointers = {PlaceAt(MiB(32).value), PlaceAt(MiB(16).value)}};
  Kind third{.code = 3, .pointers = {PlaceAt(MiB(48).value)}};
  Launch(&third);
  for (uint64_t i = 0; i < WorkingSets::kAge + 100; ++i) {
    ASSERT_NO_FATAL_FAILURE(Launch(&second));
    if (i % 1000 == 0) Launch(&first);
  }
  EXPECT_EQ(second.ranges[0].size, MiB(32)) << "the end of old age";
}

TEST_F(Repeated, NotOfAFreedAllocation) {
  Kind kind{.code = 1, .pointers = {PlaceAt(0), PlaceAt(MiB(8).value)}};
  for (int i = 0; i < 8; ++i) Launch(&kind);
  const int before = repeats_;
  Forget(0);
  Launch(&kind);
  EXPECT_EQ(repeats_, before);
}

TEST_F(Repeated, NothingIsKeptOfTooMany) {
  Kind kind{.code = 1};
  for (uint64_t i = 0; i <= WorkingSets::Repeatable::kMostPointers; ++i) {
    kind.pointers.push_back(PlaceAt(i * 4096));
  }
  for (int i = 0; i < 8; ++i) Launch(&kind);
  EXPECT_EQ(repeats_, 0);
}

}  // namespace
}  // namespace vramspan
