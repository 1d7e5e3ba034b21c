#include <gmock/gmock.h>

#include <algorithm>

#include "tests/placement/policy_run.h"

namespace vramspan {
namespace {

using ::testing::ElementsAre;

TEST(SievePolicy, TheHandStaysWhereItEvicted) {
  // Of 1 2 3, the hand passes the used 1 and takes 2; then what came later, 3 and 4 and 2, though 1
  // is older and used no more than once.
  const PolicyRun run = RunPolicy("sieve", 3, {1, 2, 3, 1, 4, 2, 5, 1, 3});
  EXPECT_EQ(run.outcome, "mmmhmmmhm");
  EXPECT_THAT(run.evicted, ElementsAre(2, 3, 4, 2));
}

TEST(SievePolicy, TheHandStartsAgainAtTheOldest) {
  // At last 1 2 6 are all used, and the hand at 2 clears 2 and 6, then 1, and takes 2.
  const PolicyRun run = RunPolicy("sieve", 3, {1, 2, 3, 1, 4, 2, 5, 1, 3, 2, 6, 2, 6, 7});
  EXPECT_EQ(run.outcome, "mmmhmmmhmmmhhm");
  EXPECT_THAT(run.evicted, ElementsAre(2, 3, 4, 2, 5, 3, 2));
}

TEST(SievePolicy, OfferingMovesNoHand) {
  const auto sieve = Make("sieve");
  for (uint32_t id = 1; id <= 4; ++id) sieve->OnInsert(ChunkIndex(id));
  for (const uint32_t id : {1, 1, 2, 3, 3, 4}) sieve->OnUse(ChunkIndex(id));
  EXPECT_THAT(Offered(*sieve), ElementsAre(2, 4, 1, 3));
  EXPECT_THAT(Offered(*sieve), ElementsAre(2, 4, 1, 3));
  sieve->OnRemove(ChunkIndex(2));  // The hand passed 1 and stands at 3.
  EXPECT_THAT(Offered(*sieve), ElementsAre(4, 1, 3));
  sieve->OnRemove(ChunkIndex(4));  // It passed 3 as well, to the end.
  EXPECT_THAT(Offered(*sieve), ElementsAre(1, 3));
}

TEST(SievePolicy, AFreedChunkDoesNotTakeTheHandPastTheUnused) {
  const auto sieve = Make("sieve");
  for (uint32_t id = 1; id <= 4; ++id) sieve->OnInsert(ChunkIndex(id));
  sieve->OnRemove(ChunkIndex(3));
  EXPECT_THAT(Offered(*sieve), ElementsAre(1, 2, 4));
}

// The paper's Algorithm 1, with its words: head is where objects come in, the hand goes from the
// tail to the head.
class SieveModel final : public PolicyModel {
 public:
  explicit SieveModel(size_t room) : room_(room) {}

  bool Hit(uint32_t id, uint32_t* victim) override {
    const auto at =
        std::find_if(queue_.begin(), queue_.end(), [&](const Object& o) { return o.id == id; });
    if (at != queue_.end()) {
      at->visited = true;
      return true;
    }
    if (queue_.size() == room_) {
      if (hand_ == kNoHand) hand_ = queue_.size() - 1;
      while (queue_[hand_].visited) {
        queue_[hand_].visited = false;
        hand_ = hand_ == 0 ? queue_.size() - 1 : hand_ - 1;
      }
      *victim = queue_[hand_].id;
      queue_.erase(queue_.begin() + static_cast<ptrdiff_t>(hand_));
      hand_ = hand_ == 0 ? kNoHand : hand_ - 1;
    }
    queue_.insert(queue_.begin(), {id, false});
    if (hand_ != kNoHand) ++hand_;
    return false;
  }

 private:
  static constexpr size_t kNoHand = SIZE_MAX;
  struct Object {
    uint32_t id;
    bool visited;
  };
  const size_t room_;
  std::vector<Object> queue_;  // From head to tail.
  size_t hand_ = kNoHand;
};

TEST(SievePolicy, AgreesWithTheModel) {
  ExpectAgrees("sieve", [](size_t room) { return std::make_unique<SieveModel>(room); });
}

}  // namespace
}  // namespace vramspan
