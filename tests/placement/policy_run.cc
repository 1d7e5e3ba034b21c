#include "tests/placement/policy_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

namespace vramspan {
namespace {

// From 1 to `ids`, small ones often. Its logarithm is uniform, which is Zipf's law with exponent 1.
uint32_t Zipf(std::mt19937& rng, uint32_t ids) {
  const double u = std::uniform_real_distribution<double>(0, std::log(ids + 1))(rng);
  return std::min(ids, static_cast<uint32_t>(std::exp(u)));
}

// A policy and what is on its device.
class Cache {
 public:
  Cache(EvictionPolicy& policy, size_t room) : policy_(policy), room_(room) {}

  bool Hit(uint32_t id, uint32_t* victim) {
    *victim = 0;
    const bool hit = present_.contains(id);
    if (!hit) {
      if (present_.size() == room_) {
        *victim = Offered(policy_, 1).at(0);
        EXPECT_EQ(present_.erase(*victim), 1u);
        policy_.OnRemove(ChunkIndex(*victim));
      }
      policy_.OnInsert(ChunkIndex(id));
      present_.insert(id);
    }
    policy_.OnUse(ChunkIndex(id));
    return hit;
  }

 private:
  EvictionPolicy& policy_;
  const size_t room_;
  std::set<uint32_t> present_;
};

}  // namespace

std::unique_ptr<EvictionPolicy> Make(std::string_view name, uint64_t seed) {
  return MakePolicy(name, seed).value();
}

Ids Offered(EvictionPolicy& policy, size_t most) {
  Ids ids;
  policy.OfferVictims([&](ChunkIndex c) {
    ids.push_back(c.value);
    return ids.size() >= most;
  });
  return ids;
}

double PolicyRun::miss_ratio() const {
  const auto misses = std::count(outcome.begin(), outcome.end(), 'm');
  return static_cast<double>(misses) / static_cast<double>(outcome.size());
}

PolicyRun RunPolicy(EvictionPolicy& policy, size_t room, const Ids& references) {
  PolicyRun run;
  Cache cache(policy, room);
  for (const uint32_t id : references) {
    uint32_t victim = 0;
    run.outcome += cache.Hit(id, &victim) ? 'h' : 'm';
    if (victim != 0) run.evicted.push_back(victim);
  }
  return run;
}

void ExpectAgrees(std::string_view name,
                  const std::function<std::unique_ptr<PolicyModel>(size_t room)>& make_model,
                  const std::function<void(EvictionPolicy&)>& prepare) {
  for (uint32_t seed = 1; seed <= 2000; ++seed) {
    const size_t room = 1 + seed % 40;
    const auto policy = Make(name);
    prepare(*policy);
    Cache cache(*policy, room);
    const auto model = make_model(room);
    const Ids trace = RandomTrace(seed, seed % 50 == 0 ? 8000 : 400);
    for (size_t i = 0; i < trace.size(); ++i) {
      uint32_t left = 0;
      uint32_t to_leave = 0;
      const bool hit = cache.Hit(trace[i], &left);
      ASSERT_EQ(hit, model->Hit(trace[i], &to_leave))
          << name << ", seed " << seed << ", room " << room << ", step " << i;
      ASSERT_EQ(left, to_leave) << name << ", seed " << seed << ", room " << room << ", step " << i;
    }
  }
}

Ids RandomTrace(uint32_t seed, size_t length) {
  std::mt19937 rng(seed);
  Ids trace;
  while (trace.size() < length) {
    const bool large = rng() % 8 == 0;
    const uint32_t ids = 2 + rng() % (large ? 300 : 60);
    const uint32_t first = rng() % 3 == 0 ? rng() % 60 : 0;
    const uint32_t kind = rng() % 4;
    const size_t end = trace.size() + 20 + rng() % (large ? 2000 : 200);
    const bool groups = rng() % 3 == 0;
    const uint32_t repeats = rng() % 4 == 0 ? 3 : 1;
    for (uint32_t i = 0; trace.size() < end; ++i) {
      uint32_t id = 0;
      switch (kind == 3 ? rng() % 3 : kind) {
        case 0:
          id = first + Zipf(rng, ids);
          break;
        case 1:
          // In groups of four, three times each, or not.
          id = first + 1 + (groups ? i / 12 * 4 + i % 4 : i) % ids;
          break;
        default:
          id = 200 + seed % 7 + static_cast<uint32_t>(trace.size());
      }
      for (uint32_t n = 1 + rng() % repeats; n > 0; --n) trace.push_back(id);
    }
  }
  trace.resize(length);
  return trace;
}

Ids Loop(uint32_t period, size_t laps) {
  Ids trace;
  for (size_t lap = 0; lap < laps; ++lap) {
    for (uint32_t id = 1; id <= period; ++id) trace.push_back(id);
  }
  return trace;
}

}  // namespace vramspan
