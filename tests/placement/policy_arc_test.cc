#include <gmock/gmock.h>

#include <algorithm>
#include <list>

#include "tests/placement/policy_run.h"

namespace vramspan {
namespace {

using ::testing::ElementsAre;

TEST(ArcPolicy, GhostsMoveTheAim) {
  // T1 | T2 once 1 and 2 were used again: 3 4 | 1 2, and the aim is 0: 5 and 3 push out 3 and 4.
  // 3 comes back from B1, the aim is 1: 6 pushes out 1, from T2. 1 comes back from B2, the aim is 0
  // again: 7 and 4 push out 6 and 7. 4 from B1: all are in T2, so 8 and 2 push out 2 and 3.
  const PolicyRun run = RunPolicy("arc", 4, {1, 2, 3, 4, 1, 2, 5, 3, 6, 1, 7, 4, 8, 2});
  EXPECT_EQ(run.outcome, "mmmmhhmmmmmmmm");
  EXPECT_THAT(run.evicted, ElementsAre(3, 4, 1, 5, 6, 7, 2, 3));
}

TEST(ArcPolicy, AScanDoesNotPushOutWhatIsUsedAgain) {
  Ids references = {1, 2, 3, 1, 2, 3};
  for (uint32_t id = 10; id < 100; ++id) references.push_back(id);
  references.insert(references.end(), {1, 2, 3});
  const PolicyRun run = RunPolicy("arc", 5, references);
  EXPECT_EQ(run.outcome.substr(run.outcome.size() - 3), "hhh");
}

TEST(ArcPolicy, OffersOnlyAsManyOfTheFirstListAsAreAboveTheAim) {
  const auto policy = Make("arc");
  for (uint32_t id = 1; id <= 6; ++id) policy->OnInsert(ChunkIndex(id));
  for (const uint32_t id : {1, 2, 3, 4, 5, 6, 1, 2, 3}) policy->OnUse(ChunkIndex(id));
  EXPECT_THAT(Offered(*policy), ElementsAre(4, 5, 6, 1, 2, 3));
  policy->OnRemove(ChunkIndex(4));
  policy->OnInsert(ChunkIndex(4));  // The aim is 1.
  EXPECT_THAT(Offered(*policy), ElementsAre(5, 1, 2, 3, 4, 6));
}

// Figure 4 of the paper with the cases' letters; room is made first, as the policy must.
class ArcModel final : public PolicyModel {
 public:
  explicit ArcModel(size_t room) : c_(static_cast<double>(room)) {}

  bool Hit(uint32_t id, uint32_t* victim) override {
    if (Take(&t1_, id) || Take(&t2_, id)) {  // Case I.
      t2_.push_back(id);
      return true;
    }
    if (Size(t1_) + Size(t2_) == c_) {  // REPLACE.
      std::list<uint32_t>& t = !t1_.empty() && (Size(t1_) > p_ || t2_.empty()) ? t1_ : t2_;
      *victim = t.front();
      t.pop_front();
      (&t == &t1_ ? b1_ : b2_).push_back(*victim);
    }
    const double b1 = Size(b1_);
    const double b2 = Size(b2_);
    if (Take(&b1_, id)) {  // Case II.
      p_ = std::min(c_, p_ + (b1 >= b2 ? 1 : b2 / b1));
      t2_.push_back(id);
    } else if (Take(&b2_, id)) {  // Case III.
      p_ = std::max(0.0, p_ - (b2 >= b1 ? 1 : b1 / b2));
      t2_.push_back(id);
    } else {  // Case IV.
      if (Size(t1_) + Size(b1_) == c_) {
        if (!b1_.empty()) b1_.pop_front();
      } else if (Size(t1_) + Size(t2_) + Size(b1_) + Size(b2_) == 2 * c_) {
        b2_.pop_front();
      }
      t1_.push_back(id);
    }
    return false;
  }

 private:
  static double Size(const std::list<uint32_t>& list) { return static_cast<double>(list.size()); }
  static bool Take(std::list<uint32_t>* list, uint32_t id) {
    const auto at = std::find(list->begin(), list->end(), id);
    if (at == list->end()) return false;
    list->erase(at);
    return true;
  }

  const double c_;
  double p_ = 0;
  std::list<uint32_t> t1_, t2_, b1_, b2_;  // Least recently used in front.
};

TEST(ArcPolicy, AgreesWithTheModel) {
  ExpectAgrees("arc", [](size_t room) { return std::make_unique<ArcModel>(room); });
}

}  // namespace
}  // namespace vramspan
