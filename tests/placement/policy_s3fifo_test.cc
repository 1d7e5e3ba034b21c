#include <gmock/gmock.h>

#include <algorithm>
#include <list>

#include "tests/placement/policy_run.h"

namespace vramspan {
namespace {

using ::testing::ElementsAre;

TEST(S3FifoPolicy, WhatIsUsedAgainReachesTheMainQueue) {
  // For 6: 1, used twice more, moves to the main queue; 2, used once more, leaves and is
  // remembered. So 2 comes back to the main queue, and later 3, 4 and 5. The small queue is empty
  // when 9 comes: the main queue gives the used 1 and 2 another turn and takes 3.
  const PolicyRun run =
      RunPolicy("s3fifo", 5, {1, 2, 3, 4, 5, 1, 1, 2, 6, 2, 7, 8, 1, 2, 3, 4, 5, 9});
  EXPECT_EQ(run.outcome, "mmmmmhhhmmmmhhmmmm");
  EXPECT_THAT(run.evicted, ElementsAre(2, 3, 4, 5, 6, 7, 8, 3));
}

TEST(S3FifoPolicy, AScanDoesNotReachTheMainQueue) {
  Ids references = {1, 2, 3, 1, 2, 3, 1, 2, 3};
  for (uint32_t id = 10; id < 100; ++id) references.push_back(id);
  references.insert(references.end(), {1, 2, 3});
  const PolicyRun run = RunPolicy("s3fifo", 10, references);
  EXPECT_EQ(run.outcome.substr(run.outcome.size() - 3), "hhh");
  EXPECT_EQ(RunPolicy("lru", 10, references).outcome.substr(run.outcome.size() - 3), "mmm");
}

TEST(S3FifoPolicy, OfferingTurnsNoQueue) {
  const auto policy = Make("s3fifo");
  for (uint32_t id = 1; id <= 4; ++id) policy->OnInsert(ChunkIndex(id));
  for (const uint32_t id : {1, 1, 1, 2, 3, 4}) policy->OnUse(ChunkIndex(id));
  EXPECT_THAT(Offered(*policy), ElementsAre(2, 3, 4, 1));
  EXPECT_THAT(Offered(*policy), ElementsAre(2, 3, 4, 1));
  policy->OnRemove(ChunkIndex(2));
  EXPECT_THAT(Offered(*policy), ElementsAre(3, 4, 1));
  policy->OnInsert(ChunkIndex(2));  // Remembered: to the main queue.
  EXPECT_THAT(Offered(*policy), ElementsAre(3, 4, 1, 2));
}

// Algorithm 1 of the paper, one victim at a time.
class S3FifoModel final : public PolicyModel {
 public:
  explicit S3FifoModel(size_t room) : room_(room) {}

  bool Hit(uint32_t id, uint32_t* victim) override {
    for (Queue* queue : {&small_, &main_}) {
      const auto at = Find(queue, id);
      if (at == queue->end()) continue;
      at->freq = std::min(at->freq + 1, 3);
      return true;
    }
    if (small_.size() + main_.size() == room_) *victim = Evict();
    const auto ghost = Find(&ghost_, id);
    if (ghost != ghost_.end()) {
      ghost_.erase(ghost);
      main_.push_back({id, 0});
    } else {
      small_.push_back({id, 0});
    }
    return false;
  }

 private:
  struct Object {
    uint32_t id;
    int freq;
  };
  using Queue = std::list<Object>;  // The tail, where objects leave, is in front.

  static Queue::iterator Find(Queue* queue, uint32_t id) {
    return std::find_if(queue->begin(), queue->end(), [&](const Object& o) { return o.id == id; });
  }
  uint32_t Evict() {
    for (;;) {
      const bool from_small = static_cast<double>(small_.size()) >= static_cast<double>(room_) / 10;
      const uint32_t victim = from_small ? EvictSmall() : EvictMain();
      if (victim != 0) return victim;
    }
  }
  uint32_t EvictSmall() {
    const Object t = small_.front();
    small_.pop_front();
    if (t.freq > 1) {
      main_.push_back({t.id, 0});
      return 0;
    }
    ghost_.push_back(t);
    while (ghost_.size() > room_ * 9 / 10) ghost_.pop_front();
    return t.id;
  }
  uint32_t EvictMain() {
    const Object t = main_.front();
    main_.pop_front();
    if (t.freq == 0) return t.id;
    main_.push_back({t.id, t.freq - 1});
    return 0;
  }

  const size_t room_;
  Queue small_, main_, ghost_;
};

TEST(S3FifoPolicy, AgreesWithTheModel) {
  ExpectAgrees("s3fifo", [](size_t room) { return std::make_unique<S3FifoModel>(room); });
}

}  // namespace
}  // namespace vramspan
