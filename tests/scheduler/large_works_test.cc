// Launches that name more than there is room for.
#include "runtime/scheduler/large_works.h"

#include <gmock/gmock.h>

#include <numeric>
#include <vector>

#include "tests/scheduler/few_chunks.h"

namespace vramspan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Bytes Chunks(uint64_t count) { return ChunkBytes(FewChunks::kLog2) * count; }

// Its arguments have so many chunks each, one behind the other.
struct Launch : SomeWork {
  explicit Launch(std::vector<uint32_t> sizes) : SomeWork(All(sizes)) {
    size_t at = 0;
    for (size_t a = 0; a < sizes.size(); ++a) {
      for (uint32_t i = 0; i < sizes[a]; ++i) own_uses[at++].how.slot = static_cast<uint16_t>(a);
    }
  }
  std::vector<uint32_t> Wanted() {
    WantTheRest();
    std::vector<uint32_t> chunks;
    for (const ChunkIndex chunk : wanted.chunks) chunks.push_back(chunk.value);
    return chunks;
  }

 private:
  static std::vector<uint32_t> All(const std::vector<uint32_t>& sizes) {
    std::vector<uint32_t> all(std::accumulate(sizes.begin(), sizes.end(), 0u));
    std::iota(all.begin(), all.end(), 1);
    return all;
  }
};

class LargeWorksTest : public ::testing::Test {
 protected:
  bool Serve(Work* work, uint64_t room = 24) {
    return ServeLarge(work, chunks_.residency(), Chunks(room));
  }
  FewChunks chunks_{64};
};

TEST_F(LargeWorksTest, WantSmallArgumentsFirst) {
  for (uint32_t c = 1; c <= 24; ++c) chunks_.Fetch(c);
  Launch launch({40, 1, 2});
  EXPECT_TRUE(Serve(&launch));
  EXPECT_THAT(launch.Wanted(), ElementsAre(41, 42, 43));
}

TEST_F(LargeWorksTest, AreAsOthersOnceThoseCame) {
  for (uint32_t c = 41; c <= 43; ++c) chunks_.Fetch(c);
  Launch launch({40, 1, 2});
  EXPECT_FALSE(Serve(&launch));
  EXPECT_THAT(launch.Wanted(), SizeIs(43));
  chunks_.Evict(42);
  EXPECT_TRUE(Serve(&launch));
  EXPECT_THAT(launch.Wanted(), ElementsAre(41, 42, 43));
}

TEST_F(LargeWorksTest, AreServedWhereTheyLieOnceTheyHaveTheRoom) {
  // 22 of 24 are theirs, and 18 are missing: one in nine could come.
  for (uint32_t c = 1; c <= 22; ++c) chunks_.Fetch(c);
  Launch launch({20, 20});
  EXPECT_TRUE(Serve(&launch));
  EXPECT_THAT(launch.Wanted(), IsEmpty());
  chunks_.Evict(22);
  Launch another({20, 20});
  EXPECT_FALSE(Serve(&another)) << "3 of 19 could";
  Launch small({39, 1});
  EXPECT_TRUE(Serve(&small));
  EXPECT_THAT(small.Wanted(), ElementsAre(40)) << "a small one comes all the same";
}

TEST_F(LargeWorksTest, AreThoseForWhichThereIsNoRoom) {
  Launch launch({40, 1, 2});
  EXPECT_FALSE(Serve(&launch, 43));
  EXPECT_TRUE(Serve(&launch, 42));
}

TEST_F(LargeWorksTest, WantNothingElseThatIsNotSmall) {
  Launch alike({20, 20, 3});
  EXPECT_FALSE(Serve(&alike)) << "3 of 20 is more than an eighth";
  Launch many({40, 5, 5, 5});
  EXPECT_TRUE(Serve(&many));
  EXPECT_THAT(many.Wanted(), SizeIs(10)) << "all three are more than half the room";
  Launch one({50});
  EXPECT_FALSE(Serve(&one));
}

TEST_F(LargeWorksTest, WantNothingThatStays) {
  chunks_[41].movable = false;
  Launch launch({40, 1});
  EXPECT_FALSE(Serve(&launch));
}

TEST_F(LargeWorksTest, KeepWhatIsServedAnyhow) {
  Launch launch({40, 1, 2});
  launch.wanted.in_place.assign(43, 0);
  launch.wanted.in_place[41] = 1;
  EXPECT_TRUE(Serve(&launch));
  EXPECT_THAT(launch.Wanted(), ElementsAre(41, 43));
  for (const uint32_t c : {41u, 43u}) chunks_.Fetch(c);
  launch.wanted.in_place.assign(43, 0);
  launch.wanted.in_place[41] = 1;
  EXPECT_FALSE(Serve(&launch));
}

}  // namespace
}  // namespace vramspan
