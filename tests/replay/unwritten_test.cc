#include "tools/replay/unwritten.h"

#include <gmock/gmock.h>

#include <vector>

#include "tests/replay/random_run.h"

namespace vramspan::replay {
namespace {

using ::testing::ElementsAre;

constexpr uint32_t kNever = kNeverUnwritten;

class UnwrittenTest : public ::testing::Test {
 protected:
  // By chunk, of those of 4 MiB that the two allocations of 10 MiB are cut into: 4, 4 and 2.
  std::vector<uint32_t> From(const std::vector<RecordedComparison>& comparisons) {
    RecordedRun run = LoopRun(2, 20, MiB(10));
    run.comparisons = comparisons;
    EXPECT_TRUE(run.Check().ok()) << run.Check();
    const ChunkedRun chunks(&run, 22, GiB(1));
    std::vector<uint32_t> from = UnwrittenByFingerprints(chunks);
    EXPECT_EQ(from.front(), kNever) << "there is no chunk 0";
    from.erase(from.begin());
    return from;
  }
  static RecordedComparison Compared(uint32_t allocation, uint64_t mib, uint64_t count,
                                     uint32_t first, uint32_t last, bool same) {
    return {allocation, mib << 20, count << 20, first, last, same};
  }
};

TEST_F(UnwrittenTest, NothingIsKnownOfWhatWasNotCompared) {
  EXPECT_THAT(From({}), ElementsAre(kNever, kNever, kNever, kNever, kNever, kNever));
}

TEST_F(UnwrittenTest, AChunkOfWhichAllWasCompared) {
  EXPECT_THAT(From({Compared(0, 0, 8, 3, 8, true)}),
              ElementsAre(3, 3, kNever, kNever, kNever, kNever));
  EXPECT_THAT(From({Compared(1, 4, 2, 3, 8, true), Compared(1, 6, 4, 5, 8, true)}),
              ElementsAre(kNever, kNever, kNever, kNever, 5, 5));
  // Half a chunk, and a piece that covers no unit whole.
  EXPECT_THAT(From({Compared(0, 0, 2, 3, 8, true), Compared(0, 5, 3, 3, 8, true)}),
              ElementsAre(kNever, kNever, kNever, kNever, kNever, kNever));
}

TEST_F(UnwrittenTest, TheLastTimeItHadChangedCounts) {
  EXPECT_THAT(From({Compared(0, 0, 4, 2, 4, true), Compared(0, 0, 4, 4, 8, true)}),
              ElementsAre(2, kNever, kNever, kNever, kNever, kNever));
  EXPECT_THAT(From({Compared(0, 0, 4, 2, 4, false), Compared(0, 0, 4, 4, 8, true)}),
              ElementsAre(4, kNever, kNever, kNever, kNever, kNever));
  EXPECT_THAT(From({Compared(0, 0, 4, 2, 4, true), Compared(0, 1, 1, 4, 8, false)}),
              ElementsAre(kNever, kNever, kNever, kNever, kNever, kNever));
}

}  // namespace
}  // namespace vramspan::replay
