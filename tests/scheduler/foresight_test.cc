#include "runtime/scheduler/foresight.h"

#include <gtest/gtest.h>

namespace vramspan {
namespace {

constexpr uint64_t kAhead = 32;

// Every work comes as was expected, but for so many of each hundred.
double ShareWith(uint32_t others, uint32_t works, uint32_t late = 0) {
  Foresight sees(kAhead);
  for (uint32_t at = 1; at <= works; ++at) {
    const bool other = at % 100 < others;
    sees.Came(ChunkIndex(other ? 1'000'000 : at - std::min(late, at - 1)));
    sees.Expects(ChunkIndex(at + kAhead));
  }
  return sees.share();
}

TEST(Foresight, IsOfWhatCame) {
  EXPECT_EQ(ShareWith(0, kAhead), 0) << "nothing was expected before";
  EXPECT_GT(ShareWith(0, 20'000), 0.99);
  EXPECT_NEAR(ShareWith(40, 20'000), 0.6, 0.03);
  EXPECT_EQ(ShareWith(100, 20'000), 0);
}

TEST(Foresight, ForgivesWhatIsAside) {
  EXPECT_GT(ShareWith(0, 20'000, Foresight::kAside), 0.99);
  EXPECT_EQ(ShareWith(0, 20'000, Foresight::kAside + 1), 0);
}

TEST(Foresight, LeavesOutWhatNamesNothing) {
  Foresight sees(kAhead);
  for (uint32_t at = 1; at <= 20'000; ++at) {
    sees.Came(at % 2 == 0 ? ChunkIndex() : ChunkIndex(at));
    sees.Expects(ChunkIndex(at + kAhead));
  }
  EXPECT_GT(sees.share(), 0.99);
}

}  // namespace
}  // namespace vramspan
