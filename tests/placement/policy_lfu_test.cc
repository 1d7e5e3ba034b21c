#include <gmock/gmock.h>

#include <algorithm>

#include "tests/placement/policy_run.h"

namespace vramspan {
namespace {

using ::testing::ElementsAre;

TEST(LfuPolicy, EvictsTheLeastFrequentlyUsed) {
  const PolicyRun run = RunPolicy("lfu", 3, {1, 1, 2, 3, 1, 2, 4, 3, 4, 2});
  EXPECT_EQ(run.outcome, "mhmmhhmmmh");
  EXPECT_THAT(run.evicted, ElementsAre(3, 4, 3));
}

TEST(LfuPolicy, AmongEqualsTheOneThatHasStoodLongest) {
  // Counts 2, 2, 1, 1; the count of 1 was reached last.
  const auto lfu = Make("lfu");
  for (const uint32_t id : {1, 2, 3, 4}) lfu->OnInsert(ChunkIndex(id));
  for (const uint32_t id : {2, 1, 4, 3, 2, 1}) lfu->OnUse(ChunkIndex(id));
  EXPECT_THAT(Offered(*lfu), ElementsAre(4, 3, 2, 1));
}

TEST(LfuPolicy, ForgetsWhatWasBusyLongAgo) {
  Ids references(100, 1);
  for (int i = 0; i < 100; ++i) references.insert(references.end(), {2, 3});
  const PolicyRun run = RunPolicy("lfu", 2, references);
  const Ids evicted = run.evicted;
  const auto left = std::find(evicted.begin(), evicted.end(), 1u);
  ASSERT_NE(left, evicted.end()) << "a plain count keeps 1 for good";
  EXPECT_GT(left - evicted.begin(), 20) << "and no count at all lets it go at once";
  EXPECT_EQ(run.outcome.substr(run.outcome.size() - 20), std::string(20, 'h'));
}

// Chunks in the order in which they would leave, each with its count.
class LfuModel final : public PolicyModel {
 public:
  explicit LfuModel(size_t room) : room_(room) {}

  bool Hit(uint32_t id, uint32_t* victim) override {
    const auto has_id = [&](const Entry& e) { return e.id == id; };
    auto at = std::find_if(order_.begin(), order_.end(), has_id);
    const bool hit = at != order_.end();
    Entry entry{.id = id, .uses = 0};
    if (hit) {
      entry = *at;
      order_.erase(at);
    } else if (order_.size() == room_) {
      *victim = order_.front().id;
      order_.erase(order_.begin());
    }
    entry.uses = std::min(entry.uses + 1, 63);
    at = std::find_if(order_.begin(), order_.end(),
                      [&](const Entry& e) { return e.uses > entry.uses; });
    order_.insert(at, entry);
    if (++uses_ >= 10 * order_.size()) {
      uses_ = 0;
      for (Entry& e : order_) e.uses /= 2;
    }
    return hit;
  }

 private:
  struct Entry {
    uint32_t id;
    int uses;
  };
  const size_t room_;
  std::vector<Entry> order_;
  size_t uses_ = 0;
};

TEST(LfuPolicy, AgreesWithTheModel) {
  ExpectAgrees("lfu", [](size_t room) { return std::make_unique<LfuModel>(room); });
}

}  // namespace
}  // namespace vramspan
