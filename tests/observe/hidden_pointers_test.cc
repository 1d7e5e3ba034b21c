#include "runtime/observe/hidden_pointers.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <utility>
#include <vector>

namespace vramspan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr uint64_t kArena = uint64_t{1} << 46;
constexpr uint64_t kSize = uint64_t{1} << 40;
constexpr uint64_t kAllocation = 1 << 20;  // Every allocation of these tests is as large.

uint64_t At(uint64_t offset) { return kArena + offset; }

class HiddenPointersTest : public ::testing::Test {
 protected:
  void Copy(uint64_t target, const std::vector<uint64_t>& words) {
    hidden_.Copied({words.data(), DevicePtr(target), Bytes(words.size() * 8)});
  }

  Submission Followed(const std::vector<Touch>& named) {
    Submission s;
    s.kind = Submission::Kind::kKernel;
    s.touches = named;
    hidden_.Follow(
        &s, [](void*, DevicePtr p) { return DevicePtr((p.value / kAllocation + 1) * kAllocation); },
        nullptr);
    s.touches.erase(s.touches.begin(), s.touches.begin() + named.size());
    return s;
  }
  // What lies behind one pointer of a kernel, as offsets in the arena.
  std::vector<uint64_t> Behind(uint64_t offset) {
    std::vector<uint64_t> offsets;
    for (const Touch& touch : Followed({{.ptr = DevicePtr(At(offset))}}).touches) {
      EXPECT_EQ(touch.size, Bytes(0));
      EXPECT_TRUE(touch.write);
      offsets.push_back(touch.ptr.value - kArena);
    }
    return offsets;
  }

  HiddenPointers hidden_{DevicePtr(kArena), Bytes(kSize)};
};

TEST_F(HiddenPointersTest, ATableOfPointersNamesWhatTheyPointAt) {
  EXPECT_TRUE(hidden_.empty());
  Copy(At(0), {1, 2, 3, At(kSize)});
  EXPECT_TRUE(hidden_.empty()) << "nothing in it points into the arena";
  Copy(At(64), {At(10 * kAllocation), 7, At(20 * kAllocation), At(10 * kAllocation)});
  EXPECT_FALSE(hidden_.empty());
  EXPECT_THAT(Behind(0), ElementsAre(10 * kAllocation, 20 * kAllocation));
  EXPECT_THAT(Behind(64 + 8), ElementsAre(20 * kAllocation, 10 * kAllocation));
  EXPECT_THAT(Behind(64 + 32), IsEmpty());
  EXPECT_THAT(Behind(kAllocation), IsEmpty()) << "another allocation";
  const Submission s = Followed({{.ptr = DevicePtr(At(64))}});
  EXPECT_EQ(s.touches[0].via, Via::kTable);
  EXPECT_FALSE(s.incomplete);
}

TEST_F(HiddenPointersTest, OfWhatIsNamedAlreadyNothingIsAdded) {
  Copy(At(0), {At(10 * kAllocation), At(20 * kAllocation)});
  EXPECT_THAT(
      Followed({{.ptr = DevicePtr(At(0))}, {.ptr = DevicePtr(At(10 * kAllocation))}}).touches,
      SizeIs(1));
}

TEST_F(HiddenPointersTest, ATouchOfKnownSizeReachesNoFurther) {
  Copy(At(64), {At(10 * kAllocation), At(20 * kAllocation)});
  EXPECT_THAT(Followed({{.ptr = DevicePtr(At(0)), .size = Bytes(72)}}).touches, SizeIs(1));
  EXPECT_THAT(Followed({{.ptr = DevicePtr(At(0)), .size = Bytes(64)}}).touches, IsEmpty());
}

TEST_F(HiddenPointersTest, PointersAreAlignedWhereTheyAreCopiedTo) {
  std::vector<char> bytes(8 * 5 + 3);
  const uint64_t pointer = At(10 * kAllocation);
  std::memcpy(&bytes[3], &pointer, 8);
  std::memcpy(&bytes[3 + 32], &pointer, 8);
  hidden_.Copied({bytes.data(), DevicePtr(At(5)), Bytes(bytes.size())});
  EXPECT_THAT(Behind(8), ElementsAre(10 * kAllocation));
  EXPECT_THAT(Behind(16), SizeIs(1));
  EXPECT_THAT(Behind(48), IsEmpty());
  // The same bytes elsewhere hold none: no kernel reads pointers at odd addresses.
  hidden_.Forget(DevicePtr(At(0)), Bytes(100));
  hidden_.Copied({bytes.data(), DevicePtr(At(4)), Bytes(bytes.size())});
  EXPECT_TRUE(hidden_.empty());
}

TEST_F(HiddenPointersTest, ACopyReplacesWhatItsTargetHeld) {
  const uint64_t a = 10 * kAllocation, b = 20 * kAllocation, c = 30 * kAllocation;
  Copy(At(0), {At(a), At(b), At(c)});
  Copy(At(8), {5});
  EXPECT_THAT(Behind(0), ElementsAre(a, c));
  Copy(At(8), {At(a)});
  EXPECT_THAT(Behind(8), ElementsAre(a, c));
  const char byte = 0;
  hidden_.Copied({&byte, DevicePtr(At(23)), Bytes(1)});
  EXPECT_THAT(Behind(8), ElementsAre(a)) << "one byte of a pointer was written over";
  hidden_.Forget(DevicePtr(At(0)), Bytes(kAllocation));
  EXPECT_TRUE(hidden_.empty());
}

TEST_F(HiddenPointersTest, ChangesAreCounted) {
  uint64_t changes = hidden_.changes();
  const auto changed = [&] { return std::exchange(changes, hidden_.changes()) != changes; };
  Copy(At(0), {1, 2});
  EXPECT_FALSE(changed()) << "there is nothing";
  Copy(At(0), {At(kAllocation), 7});
  EXPECT_TRUE(changed());
  Copy(At(0), {At(kAllocation), 8});
  EXPECT_FALSE(changed()) << "the same table again";
  Copy(At(0), {At(2 * kAllocation), 8});
  EXPECT_TRUE(changed());
  Copy(At(0), {At(2 * kAllocation), At(3 * kAllocation)});
  EXPECT_TRUE(changed());
  Copy(At(0), {At(2 * kAllocation), 7});
  EXPECT_TRUE(changed());
  Copy(At(0), {7, At(2 * kAllocation)});
  EXPECT_TRUE(changed());
  Copy(At(64), {7});
  EXPECT_FALSE(changed());
  hidden_.Forget(DevicePtr(At(64)), Bytes(64));
  EXPECT_FALSE(changed());
  hidden_.Forget(DevicePtr(At(0)), Bytes(64));
  EXPECT_TRUE(changed());
}

TEST_F(HiddenPointersTest, LevelsUpToABound) {
  // Allocation i holds a pointer to allocation i + 1.
  for (uint64_t i = 0; i < 10; ++i) Copy(At(i * kAllocation), {At((i + 1) * kAllocation)});
  const Submission deep = Followed({{.ptr = DevicePtr(At(0))}});
  EXPECT_THAT(deep.touches, SizeIs(HiddenPointers::kMostLevels));
  EXPECT_TRUE(deep.incomplete);
  const Submission shallow = Followed({{.ptr = DevicePtr(At(7 * kAllocation))}});
  EXPECT_THAT(shallow.touches, SizeIs(3));
  EXPECT_FALSE(shallow.incomplete);
  // A circle ends.
  Copy(At(10 * kAllocation), {At(9 * kAllocation)});
  const Submission circle = Followed({{.ptr = DevicePtr(At(9 * kAllocation))}});
  EXPECT_THAT(circle.touches, SizeIs(1));
  EXPECT_FALSE(circle.incomplete);
}

TEST_F(HiddenPointersTest, VariablesOfModulesAreEverybodys) {
  const uint64_t a = 10 * kAllocation, b = 20 * kAllocation;
  Copy(4096, {At(a)});
  Copy(At(a), {At(b)});
  Copy(At(kSize) + 4096, {At(0)});
  const Submission s = Followed({{.ptr = DevicePtr(At(5 * kAllocation))}});
  ASSERT_THAT(s.touches, SizeIs(3));
  for (const Touch& touch : s.touches) EXPECT_EQ(touch.via, Via::kGlobal);
  EXPECT_EQ(s.touches[2].ptr, DevicePtr(At(b)));
  EXPECT_THAT(Followed({}).touches, SizeIs(3));
}

TEST_F(HiddenPointersTest, WhatFollowingAddsIsBounded) {
  std::vector<uint64_t> words(1000);
  for (uint64_t i = 0; i < 5; ++i) {
    for (uint64_t j = 0; j < words.size(); ++j) words[j] = At((1 + i * 1000 + j) * kAllocation);
    Copy(At(8 * 1000 * i), words);
  }
  const Submission s = Followed({{.ptr = DevicePtr(At(0))}});
  EXPECT_THAT(s.touches, SizeIs(HiddenPointers::kMostFollowed));
  EXPECT_TRUE(s.incomplete);
}

TEST_F(HiddenPointersTest, TheOldestCopyIsForgottenFirst) {
  HiddenPointers few(DevicePtr(kArena), Bytes(kSize), 4);
  const auto holds = [&](uint64_t offset) {
    Submission s;
    s.touches = {{.ptr = DevicePtr(At(offset)), .size = Bytes(24)}};
    few.Follow(
        &s, [](void*, DevicePtr p) { return p; }, nullptr);
    return s.touches.size() - 1;
  };
  const uint64_t far = 10 * kAllocation;
  const std::vector<uint64_t> first = {At(far), At(far + 8)};
  const std::vector<uint64_t> second = {At(far + 16), At(far + 24), At(far + 32)};
  few.Copied({first.data(), DevicePtr(At(0)), Bytes(16)});
  few.Copied({first.data(), DevicePtr(At(512)), Bytes(16)});
  few.Copied({first.data(), DevicePtr(At(0)), Bytes(16)});  // Newer than the one at 512.
  few.Copied({second.data(), DevicePtr(At(1024)), Bytes(8)});
  EXPECT_EQ(holds(512), 0u);
  EXPECT_EQ(holds(0), 2u);
  EXPECT_EQ(holds(1024), 1u);
  few.Copied({second.data(), DevicePtr(At(2048)), Bytes(24)});
  EXPECT_EQ(holds(0), 0u);
  EXPECT_EQ(holds(1024), 1u);
  EXPECT_EQ(holds(2048), 3u);
}

TEST_F(HiddenPointersTest, CopiesOverTheSameTargetTakeNoMemory) {
  for (uint64_t i = 0; i < 20000; ++i) Copy(At(0), {At(kAllocation * (1 + i % 7))});
  EXPECT_THAT(Behind(0), SizeIs(1));
}

TEST_F(HiddenPointersTest, LargeCopiesAreNotRead) {
  std::vector<uint64_t> words((HiddenPointers::kMostScanned.value >> 3) + 1, At(kAllocation));
  Copy(At(0), words);
  EXPECT_TRUE(hidden_.empty());
  words.pop_back();
  Copy(At(0), words);
  EXPECT_THAT(Behind(0), ElementsAre(kAllocation));
}

TEST_F(HiddenPointersTest, MemoryThatCannotBeReadIsLeftAlone) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  char* const pages = static_cast<char*>(
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages + page, page, PROT_NONE), 0);
  Copy(At(0), {At(kAllocation)});
  hidden_.Copied({pages + page, DevicePtr(At(0)), Bytes(page)});
  EXPECT_THAT(Behind(0), ElementsAre(kAllocation)) << "what cannot be read says nothing";
  const uint64_t pointer = At(2 * kAllocation);
  std::memcpy(pages + page - 8, &pointer, 8);
  hidden_.Copied({pages + page - 8, DevicePtr(At(0)), Bytes(64)});
  EXPECT_THAT(Behind(0), ElementsAre(2 * kAllocation)) << "up to where it can be read";
  munmap(pages, 2 * page);
}

TEST_F(HiddenPointersTest, FromManyThreads) {
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 500; ++i) {
        const uint64_t own = t * kAllocation;
        Copy(At(own), {At((10 + t) * kAllocation)});
        ASSERT_THAT(Behind(own), ElementsAre((10 + t) * kAllocation));
        hidden_.Forget(DevicePtr(At(own)), Bytes(8));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(hidden_.empty());
}

}  // namespace
}  // namespace vramspan
