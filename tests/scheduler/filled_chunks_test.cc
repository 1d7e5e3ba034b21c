// Copies and fills of memory that holds nothing.
#include "runtime/scheduler/filled_chunks.h"

#include <gmock/gmock.h>

#include <vector>

#include "tests/scheduler/few_moves.h"

namespace vramspan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Bytes kRoom = ChunkBytes(FewChunks::kLog2) * 4;

// Reads the first so many of its chunks, and writes the others.
struct Copy : SomeWork {
  explicit Copy(std::vector<uint32_t> chunks, size_t reads = 0) : SomeWork(std::move(chunks)) {
    for (size_t i = 0; i < own_uses.size(); ++i) {
      own_uses[i].how.once = true;
      own_uses[i].how.write = i >= reads;
    }
    ServeOnce();
    WantTheRest();
  }
  std::vector<uint32_t> Wanted() {
    WantTheRest();
    std::vector<uint32_t> all;
    for (const ChunkIndex chunk : wanted.chunks) all.push_back(chunk.value);
    return all;
  }
};

class FilledChunksTest : public ::testing::Test {
 protected:
  void Empty(uint32_t chunk) { chunks_[chunk].contents = Contents::kNone; }
  bool Fetch(Work* work, Bytes room = kRoom) {
    return FetchFilled(work, chunks_.residency(), room);
  }
  FewChunks chunks_{8};
};

TEST_F(FilledChunksTest, ComeWhereTheyHoldNothing) {
  Empty(2);
  chunks_[3].contents = Contents::kGivenUp;
  Copy fill({1, 2, 3});
  EXPECT_TRUE(Fetch(&fill));
  EXPECT_THAT(fill.Wanted(), ElementsAre(2, 3));
}

TEST_F(FilledChunksTest, AreServedWhereTheyLieElse) {
  Copy fill({1, 2});
  EXPECT_FALSE(Fetch(&fill)) << "what is in them would cross the bus";
  Empty(1);
  Copy read({1, 2}, /*reads=*/1);
  EXPECT_FALSE(Fetch(&read)) << "it is not written";
  Copy waited({1});
  waited.own_uses[0].how.waited = true;
  EXPECT_FALSE(Fetch(&waited)) << "its thread keeps the chunk where it is";
  Copy little({1});
  little.own_uses[0].how.part = NamedPart::Of(Bytes(ChunkBytes(FewChunks::kLog2).value / 4));
  EXPECT_FALSE(Fetch(&little)) << "what leaves for it may be more";
  chunks_[1].advice = Advice::kPreferHost;
  Copy told({1});
  EXPECT_FALSE(Fetch(&told));
  EXPECT_THAT(told.Wanted(), IsEmpty());
}

TEST_F(FilledChunksTest, NeedRoomForAllOfThem) {
  for (uint32_t c = 1; c <= 5; ++c) Empty(c);
  Copy much({1, 2, 3, 4, 5}), less({1, 2, 3, 4});
  EXPECT_FALSE(Fetch(&much));
  EXPECT_THAT(much.Wanted(), IsEmpty());
  EXPECT_TRUE(Fetch(&less));
}

TEST_F(FilledChunksTest, OfALaunchAreAsItIsPriced) {
  Empty(1);
  SomeWork launch({1});
  EXPECT_FALSE(Fetch(&launch));
}

// As a program does it: freed, handed out again and set to zero.
TEST(FilledChunks, HaveRoomMadeAndComeWithoutACopy) {
  FewMoves few(4, 2);
  few->work().GivenUp(ChunkIndex(3), /*unowned=*/true);
  few->work().Owned(ChunkIndex(3));
  Copy fill({3});
  EXPECT_FALSE(few.Submit(&fill, 0)) << "it waits for its memory";
  ChunkMove* const out = few.Expect(Action::Kind::kEvict, 1, 10);
  few.Copy(out);
  few.Expect(Action::Kind::kRemap, 1, 20);
  few.Remap(out, 30);
  ChunkMove* const in = few.Expect(Action::Kind::kFetch, 3, 40);
  EXPECT_TRUE(in->clean);
  few.Copy(in);
  few.Expect(Action::Kind::kRemap, 3, 50);
  few.Remap(in, 60);
  EXPECT_EQ(few.Next(70).work, &fill);
}

}  // namespace
}  // namespace vramspan
