#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <random>

#include "tests/placement/policy_loop_model.h"
#include "tests/placement/policy_run.h"

namespace vramspan {
namespace {

using ::testing::ElementsAre;

TEST(CyclePolicy, KeepsPartOfALoop) {
  // As LRU until in the second lap three chunks have come back after the same time as 1. From then
  // on 2 and 3 stay, and 1 and 4 take turns.
  const PolicyRun run = RunPolicy("cycle", 3, Loop(4, 4));
  EXPECT_EQ(run.outcome, "mmmmmmmmmhhmmhhm");
  EXPECT_THAT(run.evicted, ElementsAre(1, 2, 3, 4, 1, 4, 1, 4, 1));
}

TEST(CyclePolicy, ComesNearTheBestOnLoops) {
  for (const uint32_t period : {401u, 440u, 600u, 800u, 1600u, 3000u}) {
    const std::string outcome = RunPolicy("cycle", 400, Loop(period, 30)).outcome;
    // Two laps to tell that there is a loop; in each of the others as many miss as do not fit, and
    // hardly more.
    const auto misses = std::count(outcome.begin() + 2 * period, outcome.end(), 'm');
    EXPECT_LE(static_cast<double>(misses), 28 * ((period - 400) * 1.02 + 1)) << period;
  }
}

TEST(CyclePolicy, IsLruWhereNothingLoops) {
  std::mt19937 rng(3);
  Ids uniform(20000);
  for (uint32_t& id : uniform) id = 1 + rng() % 300;
  Ids to_and_fro;
  for (int lap = 0; lap < 20; ++lap) {
    const Ids forth = Loop(300, 1);
    to_and_fro.insert(to_and_fro.end(), forth.begin(), forth.end());
    to_and_fro.insert(to_and_fro.end(), forth.rbegin(), forth.rend());
  }
  for (const Ids& references : {uniform, to_and_fro, Loop(100, 20)}) {
    for (const size_t room : {100, 180}) {
      EXPECT_EQ(RunPolicy("cycle", room, references).evicted,
                RunPolicy("lru", room, references).evicted);
    }
  }
}

TEST(CyclePolicy, LetsGoOfALoopThatHasEnded) {
  Ids references = Loop(150, 10);
  for (int lap = 0; lap < 20; ++lap) {
    for (uint32_t id = 1001; id <= 1090; ++id) references.push_back(id);
  }
  const std::string outcome = RunPolicy("cycle", 100, references).outcome;
  EXPECT_EQ(outcome.substr(outcome.size() - 90 * 15), std::string(90 * 15, 'h'));
}

TEST(CyclePolicy, KeepsWhatWasFetchedAhead) {
  const auto cycle = Make("cycle");
  RunPolicy(*cycle, 3, Loop(4, 4));
  cycle->OnRemove(ChunkIndex(4));  // 2 and 3 stayed, 4 and 1 took turns: 1 is next.
  cycle->OnInsert(ChunkIndex(1));
  EXPECT_THAT(Offered(*cycle), ElementsAre(2, 3, 1));
  cycle->OnUse(ChunkIndex(1));
  EXPECT_THAT(Offered(*cycle), ElementsAre(1, 2, 3));
}

TEST(CyclePolicy, FindsALoopAfterALongTime) {
  // Stamps have come round often, and long ago a chunk was used once.
  Ids references = {5000};
  for (uint32_t i = 0; i < 60000; ++i) references.push_back(1 + i % 90);
  references.push_back(5000);
  const Ids loop = Loop(150, 10);
  references.insert(references.end(), loop.begin(), loop.end());
  const std::string outcome = RunPolicy("cycle", 100, references).outcome;
  EXPECT_LT(std::count(outcome.end() - 750, outcome.end(), 'm'), 750 * 0.4);
}

class CycleModel final : public PolicyModel {
 public:
  explicit CycleModel(size_t room) : room_(room) {}

  bool Hit(uint32_t id, uint32_t* victim) override {
    const auto at = std::find(order_.begin(), order_.end(), id);
    const bool hit = at != order_.end();
    if (hit) {
      order_.erase(at);
    } else if (order_.size() == room_) {
      *victim = Victim();
      order_.erase(std::find(order_.begin(), order_.end(), *victim));
      loops_.Remove(*victim);
    }
    if (!hit) loops_.Insert(id);
    order_.push_back(id);
    loops_.Use(id, static_cast<int64_t>(order_.size()));
    return hit;
  }

 private:
  uint32_t Victim() const {
    if (!loops_.looping() || loops_.DroppedOut(order_.front())) return order_.front();
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
      if (loops_.Returned(*at)) return *at;
    }
    for (const uint32_t id : order_) {
      if (!loops_.Returned(id)) return id;
    }
    return order_.front();
  }

  const size_t room_;
  Ids order_;  // Least recently used first.
  LoopModel loops_;
};

TEST(CyclePolicy, AgreesWithTheModel) {
  ExpectAgrees("cycle", [](size_t room) { return std::make_unique<CycleModel>(room); });
}

}  // namespace
}  // namespace vramspan
