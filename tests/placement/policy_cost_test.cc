#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <tuple>

#include "tests/placement/policy_loop_model.h"
#include "tests/placement/policy_run.h"

namespace vramspan {
namespace {

using ::testing::ElementsAre;

constexpr uint32_t kLink = 1 << 15;  // The price without OnPrice, of 2 MiB.

Ids UpTo(uint32_t last) { return Loop(last, 1); }

TEST(CostPolicy, WithoutPricesAScanLeavesInItsOrder) {
  EXPECT_THAT(RunPolicy("cost", 3, UpTo(8)).evicted, ElementsAre(1, 2, 3, 4, 5));
}

TEST(CostPolicy, FourTimesThePriceStaysFourTimesAsLong) {
  // 1 is due at 64, the others at 16 after what L was when they came: 2 and 3 at 16, 4 and 5 at 32,
  // 6 and 7 at 48, 8 and 9 at 64; of what is due at the same time the cheap leave first.
  const auto cost = Make("cost");
  cost->OnPrice(ChunkIndex(1), 4 * kLink, MiB(2));
  EXPECT_THAT(Evicted(*cost, 3, UpTo(13)), ElementsAre(2, 3, 4, 5, 6, 7, 8, 9, 1, 10));
}

TEST(CostPolicy, ThePriceIsPerByte) {
  const auto cost = Make("cost");
  cost->OnPrice(ChunkIndex(1), 4 * kLink, MiB(8));
  cost->OnPrice(ChunkIndex(2), 32 * kLink, MiB(64));
  EXPECT_THAT(Evicted(*cost, 3, UpTo(5)), ElementsAre(1, 2));
}

TEST(CostPolicy, APriceCountsAtOnce) {
  const auto cost = Make("cost");
  for (uint32_t id = 1; id <= 3; ++id) cost->OnInsert(ChunkIndex(id));
  cost->OnPrice(ChunkIndex(1), 2 * kLink, MiB(2));
  cost->OnPrice(ChunkIndex(2), kLink + 1, MiB(2));  // Rounded: no change.
  cost->OnPrice(ChunkIndex(3), kLink / 2, MiB(2));
  EXPECT_THAT(Offered(*cost), ElementsAre(3, 2, 1));
  cost->OnPrice(ChunkIndex(1), 0, MiB(64));
  cost->OnPrice(ChunkIndex(2), UINT32_MAX, MiB(2));
  EXPECT_THAT(Offered(*cost), ElementsAre(1, 3, 2));
}

TEST(CostPolicy, WhatIsUsedOftenStaysLonger) {
  // 2 and 3 were visited twice and are due at 32, 1 three times, at 48. Then 10 and 11 are due at
  // 32 + 16, and go before 1 for their low frequency, the others at 64.
  EXPECT_THAT(RunPolicy("cost", 3, {1, 2, 3, 1, 2, 3, 1, 10, 11, 12, 13, 14, 15}).evicted,
              ElementsAre(2, 3, 10, 11, 1, 12));
}

TEST(CostPolicy, ComesNearTheBestOnLoops) {
  for (const uint32_t period : {401u, 440u, 600u, 800u, 1600u, 3000u}) {
    const std::string outcome = RunPolicy("cost", 400, Loop(period, 30)).outcome;
    // Two laps to tell that there is a loop, one to choose what stays; in each of the others as
    // many miss as do not fit, and hardly more.
    const auto misses = std::count(outcome.begin() + 3 * period, outcome.end(), 'm');
    EXPECT_LE(static_cast<double>(misses), 27 * ((period - 400) * 1.02 + 1)) << period;
  }
  EXPECT_LT(RunPolicy("cost", 3, Loop(4, 100)).miss_ratio(), 0.55);
}

TEST(CostPolicy, WhatOfALoopDoesNotStayIsSpread) {
  for (const uint32_t period : {440u, 600u, 800u, 1600u}) {
    const std::string outcome = RunPolicy("cost", 400, Loop(period, 8)).outcome;
    const std::string lap = outcome.substr(outcome.size() - period);
    const auto misses = std::count(lap.begin(), lap.end(), 'm');
    // Each tenth of the lap has its share, with an eighth of the chunks to spare.
    for (uint32_t tenth = 0; tenth < 10; ++tenth) {
      const auto begin = lap.begin() + period * tenth / 10;
      const auto end = lap.begin() + period * (tenth + 1) / 10;
      EXPECT_NEAR(static_cast<double>(std::count(begin, end, 'm')), misses / 10.0, period / 80.0)
          << tenth << " of " << period;
    }
  }
}

TEST(CostPolicy, OfALoopThePreciousPartStays) {
  const auto cost = Make("cost");
  for (uint32_t id = 2; id <= 600; id += 2) cost->OnPrice(ChunkIndex(id), 3 * kLink, MiB(2));
  const std::string outcome = RunPolicy(*cost, 400, Loop(600, 20)).outcome;
  // Of the last lap, all of the 300 precious ones hit, and about 100 of the others.
  int misses[2] = {};
  for (size_t i = 0; i < 600; ++i) misses[i % 2] += outcome[outcome.size() - 600 + i] == 'm';
  EXPECT_EQ(misses[1], 0);
  EXPECT_LT(misses[0], 230);
}

// Not worse than LRU by much anywhere, and better where LRU is bad.
TEST(CostPolicy, BesideLru) {
  std::mt19937 rng(5);
  const auto ratio = [](const char* policy, const Ids& references) {
    return RunPolicy(policy, 400, references).miss_ratio();
  };
  Ids zipf;
  for (int i = 0; i < 20000; ++i) {
    zipf.push_back(static_cast<uint32_t>(
        std::exp(std::uniform_real_distribution<double>(0, std::log(3000.0))(rng))));
  }
  EXPECT_LT(ratio("cost", zipf), ratio("lru", zipf));

  Ids to_and_fro;
  const Ids forth = Loop(600, 1);
  for (int lap = 0; lap < 15; ++lap) {
    to_and_fro.insert(to_and_fro.end(), forth.begin(), forth.end());
    to_and_fro.insert(to_and_fro.end(), forth.rbegin(), forth.rend());
  }
  EXPECT_LT(ratio("cost", to_and_fro), ratio("lru", to_and_fro) + 0.01);

  Ids hot_and_loop;
  for (uint32_t i = 0; i < 20000; ++i) {
    hot_and_loop.push_back(i % 3 != 0 ? 101 + (i - i / 3) % 600 : 1 + rng() % 40);
  }
  EXPECT_LT(ratio("cost", hot_and_loop), 0.4);
  EXPECT_GT(ratio("lru", hot_and_loop), 0.6);

  Ids noisy;
  for (uint32_t i = 0; i < 20000; ++i) {
    noisy.push_back(1 + i % 600);
    if (rng() % 10 == 0) noisy.push_back(1000 + rng() % 3000);
  }
  EXPECT_LT(ratio("cost", noisy), 0.55);
  EXPECT_GT(ratio("lru", noisy), 0.95);

  Ids phases;
  for (uint32_t phase = 0; phase < 10; ++phase) {
    for (uint32_t i = 0; i < 3000; ++i) phases.push_back(phase * 300 + i % 300 + 1);
  }
  EXPECT_LT(ratio("cost", phases), ratio("lru", phases) + 0.001);
}

// Nanoseconds and size of every chunk in the random traces.
std::pair<uint32_t, Bytes> PriceOf(uint32_t id) {
  const uint32_t shift = id % 7 == 0 ? 31 : id % 14;
  return {(id % 3 == 0 ? 3u : 5u) * 500u * (1u << (shift % 20)), MiB(2u << (id % 6))};
}

class CostModel final : public PolicyModel {
 public:
  CostModel(size_t room, bool priced) : room_(room), priced_(priced) {}

  bool Hit(uint32_t id, uint32_t* victim) override {
    const bool hit = Find(id) != present_.end();
    if (!hit) {
      if (present_.size() == room_) {
        *victim = Victim().id;
        auto first = std::min_element(present_.begin(), present_.end(),
                                      [](auto& a, auto& b) { return a.due < b.due; });
        inflation_ = first->due;
        present_.erase(Find(*victim));
        loops_.Remove(*victim);
      }
      loops_.Insert(id);
      present_.push_back({.id = id});
    }
    const std::string visit = loops_.Use(id, static_cast<int64_t>(present_.size()));
    int& frequency = frequency_[id];
    if (visit == "first") frequency = 1;
    if (visit == "soon") frequency = std::min(frequency + 1, 4);
    if (visit == "returned") frequency = std::max(frequency / 2, 1);
    // To the end of its list.
    Chunk chunk = *Find(id);
    present_.erase(Find(id));
    chunk.frequency = frequency;
    chunk.price = Price(id);
    chunk.value = std::min<int64_t>(chunk.price / 2048 * frequency, 4095);
    chunk.due = inflation_ + chunk.value;
    present_.push_back(chunk);
    return hit;
  }

 private:
  struct Chunk {
    uint32_t id;
    int64_t price = 0;
    int64_t value = 0;
    int64_t due = 0;
    int frequency = 0;
  };

  std::vector<Chunk>::iterator Find(uint32_t id) {
    return std::find_if(present_.begin(), present_.end(), [&](auto& c) { return c.id == id; });
  }
  int64_t Price(uint32_t id) const {
    if (!priced_) return kLink;
    const auto [nanoseconds, size] = PriceOf(id);
    int64_t price = nanoseconds / (size.value >> 21);
    int64_t digit = 1;
    while (price >= digit * 8) digit *= 2;
    price -= price % digit;
    return std::clamp<int64_t>(price, 2048, int64_t{7} << 24);
  }
  // The first three binary digits of what the golden ratio times the index is beyond a whole.
  static int Class(uint32_t id) {
    const double turns = id * (0x9E3779B9u / 4294967296.0);
    return static_cast<int>((turns - std::floor(turns)) * 8);
  }
  Chunk Victim() const {
    const auto stayed = [&](const Chunk& c) { return !loops_.Returned(c.id); };
    if (!loops_.looping()) {
      return *std::min_element(present_.begin(), present_.end(), [&](auto& a, auto& b) {
        return std::tuple(a.due, a.price, a.frequency, stayed(a)) <
               std::tuple(b.due, b.price, b.frequency, stayed(b));
      });
    }
    std::vector<Chunk> order = present_;
    const auto list = [&](const Chunk& c) {
      return std::tuple(c.value, Class(c.id), stayed(c), c.price, c.frequency);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](auto& a, auto& b) { return list(a) < list(b); });
    for (size_t i = 0; i < order.size(); ++i) {
      const bool head = i == 0 || list(order[i - 1]) != list(order[i]);
      if (head && loops_.DroppedOut(order[i].id)) return order[i];
    }
    // The last of the first list.
    size_t end = 1;
    while (end < order.size() && list(order[end]) == list(order[0])) ++end;
    return order[end - 1];
  }

  const size_t room_;
  const bool priced_;
  std::vector<Chunk> present_;  // In the order in which they were listed.
  std::map<uint32_t, int> frequency_;
  int64_t inflation_ = 0;
  LoopModel loops_;
};

TEST(CostPolicy, AgreesWithTheModel) {
  ExpectAgrees("cost", [](size_t room) { return std::make_unique<CostModel>(room, false); });
}

TEST(CostPolicy, AgreesWithTheModelOnPrices) {
  ExpectAgrees(
      "cost", [](size_t room) { return std::make_unique<CostModel>(room, true); },
      [](EvictionPolicy& policy) {
        for (uint32_t id = 1; id <= 9000; ++id) {
          const auto [nanoseconds, size] = PriceOf(id);
          policy.OnPrice(ChunkIndex(id), nanoseconds, size);
        }
      });
}

}  // namespace
}  // namespace vramspan
