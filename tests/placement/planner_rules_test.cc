// Random requests against the rules of planner.h, each checked in the slowest and plainest way.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "tests/placement/world.h"

namespace vramspan {
namespace {

constexpr uint32_t kNever = UINT32_MAX;

struct Shape {
  bool equal_sizes = false;
  bool mixed_advice = true;
  bool busy = true;
};

std::unique_ptr<World> RandomWorld(std::mt19937& rng, const Shape& shape, std::string_view policy) {
  auto world = std::make_unique<World>(policy);
  const auto chance = [&](uint32_t percent) { return rng() % 100 < percent; };
  const uint32_t chunks = 1 + rng() % 60;
  const uint32_t on_device = rng() % 100;
  const uint32_t busy = shape.busy ? rng() % 60 : 0;
  for (uint32_t id = 1; id <= chunks; ++id) {
    const Bytes size = shape.equal_sizes ? MiB(2) : ChunkBytes(kMinChunkLog2 + rng() % 6);
    ChunkView& view = chance(on_device) ? world->Device(id, size) : world->Host(id, size);
    view.busy = chance(busy);
    if (shape.mixed_advice) {
      view.movable = !chance(8);
      view.prefer_host = chance(8);
      if (chance(8)) view.claim = Claim::kKeep;
      if (chance(8)) {
        view.prefer_host = true;
        view.claim = Claim::kNone;
        world->policy().Advise(ChunkIndex(id), true, view.on_device);
      }
    }
  }
  for (int i = 0; i < 20; ++i) world->policy().OnUse(ChunkIndex(1 + rng() % chunks));
  const uint32_t works = rng() % 20;
  const uint32_t span = 1 + rng() % 8;
  for (uint32_t i = 0; i < works; ++i) {
    std::set<uint32_t> ids;
    for (uint32_t k = rng() % (span + 1); k > 0; --k) ids.insert(1 + rng() % chunks);
    Chunks work;
    for (const uint32_t id : ids) work.push_back(ChunkIndex(id));
    std::shuffle(work.begin(), work.end(), rng);
    world->Queue(std::move(work), 1 + rng() % 5);
  }
  PlanRequest& request = world->request;
  if (chance(30)) request.released = rng() % 4;
  request.room = chance(40) ? ChunkBytes(kMinChunkLog2 + rng() % 6) : Bytes(0);
  request.room_coming = chance(30) ? ChunkBytes(kMinChunkLog2 + rng() % 6) : Bytes(0);
  request.must_free = chance(15) ? MiB(2 * (1 + rng() % 60)) : Bytes(0);
  request.ahead = chance(30) ? MiB(2 * (rng() % 60)) : Bytes(0);
  if (chance(30)) request.horizon = MiB(2 * (rng() % 200));
  if (chance(40)) request.max_fetches = rng() % 6;
  if (chance(40)) request.max_evictions = rng() % 6;
  if (chance(40)) request.startable = MiB(2 * (1 + rng() % 32));
  return world;
}

class Checker {
 public:
  explicit Checker(World& world) : world_(world), request_(world.request), plan_(world.Make()) {
    uint64_t seen = 0;
    for (uint32_t i = 0; i < request_.queue.size(); ++i) {
      for (const ChunkIndex c : request_.queue[i].chunks) {
        if (first_use_.emplace(c.value, i).second) {
          seen += View(c).size.value;
          order_.push_back(c);
        }
      }
      works_ = i + 1;
      if (seen > request_.horizon.value && i >= request_.released) break;
    }
    has_head_ = request_.released < works_;
    for (const ChunkIndex c : plan_.fetch) fetched_.insert(c.value);
    for (const ChunkIndex c : plan_.evict) evicted_.insert(c.value);
  }

  void CheckAll() {
    CheckMoves();
    CheckOrderOfFetches();
    CheckRoomAndVictims();
    CheckHead();
  }
  const Plan& plan() const { return plan_; }

 private:
  ChunkView View(ChunkIndex c) const { return world_.Get(c); }
  uint32_t FirstUse(ChunkIndex c) const {
    const auto at = first_use_.find(c.value);
    return at == first_use_.end() ? kNever : at->second;
  }
  bool MayFetch(ChunkIndex c) const {
    const ChunkView v = View(c);
    return !v.on_device && v.movable && !v.prefer_host && !v.busy;
  }
  bool MayEvict(ChunkIndex c) const {
    const ChunkView v = View(c);
    return v.on_device && v.movable && !v.busy;
  }
  // The lesser leaves later: by advice, then by need.
  std::pair<int, uint32_t> Order(ChunkIndex c) const {
    return {-static_cast<int>(View(c).claim), FirstUse(c)};
  }

  void CheckMoves() {
    EXPECT_EQ(fetched_.size(), plan_.fetch.size()) << "a chunk is fetched twice";
    EXPECT_EQ(evicted_.size(), plan_.evict.size()) << "a chunk is evicted twice";
    EXPECT_LE(plan_.fetch.size(), request_.max_fetches);
    EXPECT_LE(plan_.evict.size(), request_.max_evictions);
    for (const ChunkIndex c : plan_.fetch) {
      EXPECT_TRUE(MayFetch(c)) << c.value;
      ASSERT_NE(FirstUse(c), kNever) << "fetches chunk " << c.value << ", which nothing needs";
      EXPECT_GE(FirstUse(c), request_.released);
    }
    for (const ChunkIndex c : plan_.evict) EXPECT_TRUE(MayEvict(c)) << c.value;
  }

  void CheckOrderOfFetches() {
    size_t next = 0;
    std::optional<uint32_t> skipped;  // The first work of which something was left out.
    for (const ChunkIndex c : order_) {
      if (FirstUse(c) < request_.released || !MayFetch(c)) continue;
      if (next < plan_.fetch.size() && plan_.fetch[next] == c) {
        ++next;
        EXPECT_TRUE(!skipped || (*skipped == request_.released && FirstUse(c) == *skipped))
            << "chunk " << c.value << " is fetched past work " << *skipped;
      } else if (!skipped) {
        skipped = FirstUse(c);
      }
    }
    EXPECT_EQ(next, plan_.fetch.size()) << "not in the order of first need";
  }

  // Gives each eviction to what it is for, in order, and looks whether it may be.
  void CheckRoomAndVictims() {
    size_t next = 0;
    int64_t freed = 0;
    const auto must_free = static_cast<int64_t>(request_.must_free.value);
    for (; next < plan_.evict.size() && freed < must_free; ++next) {
      CheckVictim(next, -1);
      freed += static_cast<int64_t>(View(plan_.evict[next]).size.value);
    }
    int64_t room =
        static_cast<int64_t>((request_.room + request_.room_coming).value) + freed - must_free;
    for (const ChunkIndex c : plan_.fetch) {
      const auto size = static_cast<int64_t>(View(c).size.value);
      int64_t smallest = INT64_MAX;
      while (room < size) {
        ASSERT_LT(next, plan_.evict.size()) << "no room for chunk " << c.value;
        CheckVictim(next, FirstUse(c));
        const auto victim = static_cast<int64_t>(View(plan_.evict[next++]).size.value);
        smallest = std::min(smallest, victim);
        room += victim;
      }
      EXPECT_LT(room - size, smallest) << "one victim less would do for chunk " << c.value;
      room -= size;
    }
    if (next == plan_.evict.size()) return;
    // A beginning of what one chunk of the head needs, as many as may go.
    EXPECT_EQ(plan_.evict.size(), request_.max_evictions) << "evicts in vain";
    EXPECT_TRUE(plan_.wait);
    for (; next < plan_.evict.size(); ++next) CheckVictim(next, request_.released);
  }

  void CheckVictim(size_t index, int64_t for_work) {
    const ChunkIndex victim = plan_.evict[index];
    if (View(victim).claim != Claim::kNone) {
      EXPECT_GT(int64_t{FirstUse(victim)}, for_work) << victim.value << " is needed sooner";
    }
    if (for_work >= 0) {
      EXPECT_NE(View(victim).claim, Claim::kKeep) << victim.value << " is to be kept";
    }
    // Nothing that is needed later, or not at all, was passed over; smaller and larger ones may be.
    for (uint32_t id = 1; id < world_.chunk_count(); ++id) {
      const ChunkIndex other(id);
      if (!MayEvict(other) || View(other).size != View(victim).size) continue;
      if (evicted_.contains(id)) continue;
      EXPECT_LE(Order(other), Order(victim))
          << "chunk " << id << " should leave before " << victim.value;
    }
  }

  void CheckHead() {
    EXPECT_LE(plan_.in_place.size(), 1u);
    if (!has_head_) {
      EXPECT_TRUE(plan_.in_place.empty());
      EXPECT_FALSE(plan_.wait);
      return;
    }
    const uint32_t head = request_.released;
    std::set<uint32_t> own;
    for (const ChunkIndex c : request_.queue[head].chunks) own.insert(c.value);
    uint64_t smallest_left_out = UINT64_MAX;
    bool fetched_for_it = false;
    for (const uint32_t id : own) {
      const ChunkView v = View(ChunkIndex(id));
      if (v.on_device || !v.movable || v.prefer_host) continue;
      if (fetched_.contains(id)) {
        fetched_for_it = true;
      } else if (v.busy || FirstUse(ChunkIndex(id)) == head) {
        smallest_left_out = std::min(smallest_left_out, v.size.value);
      }
    }
    const bool lacks = smallest_left_out != UINT64_MAX;
    if (plan_.wait) {
      EXPECT_TRUE(lacks);
    }
    if (lacks && !fetched_for_it) {
      EXPECT_NE(plan_.wait, !plan_.in_place.empty()) << "either there is hope or there is none";
    }
    if (plan_.in_place.empty()) return;
    EXPECT_EQ(plan_.in_place[0], head);
    EXPECT_FALSE(fetched_for_it);
    EXPECT_FALSE(plan_.wait);
    ASSERT_TRUE(lacks);
    int64_t most = static_cast<int64_t>((request_.room + request_.room_coming).value) -
                   static_cast<int64_t>(request_.must_free.value);
    for (uint32_t id = 1; id < world_.chunk_count(); ++id) {
      const ChunkView v = View(ChunkIndex(id));
      if (!v.on_device || !v.movable || v.claim == Claim::kKeep) continue;
      if (own.contains(id) && v.claim != Claim::kNone) continue;
      // Idle chunks of released work cannot be: they are left out on both sides.
      if (!v.busy && FirstUse(ChunkIndex(id)) < head) continue;
      most += static_cast<int64_t>(v.size.value);
    }
    EXPECT_LT(most, static_cast<int64_t>(smallest_left_out)) << "gives up although there is hope";
  }

  World& world_;
  const PlanRequest& request_;
  const Plan plan_;
  std::map<uint32_t, uint32_t> first_use_;
  Chunks order_;
  uint32_t works_ = 0;
  bool has_head_ = false;
  std::set<uint32_t> fetched_, evicted_;
};

class PlannerRules : public ::testing::TestWithParam<std::string_view> {
 protected:
  void Run(const Shape& shape, uint32_t seeds) {
    uint32_t moving = 0;
    for (uint32_t seed = 1; seed <= seeds; ++seed) {
      std::mt19937 rng(seed);
      const auto world = RandomWorld(rng, shape, GetParam());
      Checker checker(*world);
      checker.CheckAll();
      moving += !checker.plan().evict.empty() && !checker.plan().fetch.empty();
      ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
    EXPECT_GT(moving, seeds / 10) << "the requests are too easy to show anything";
  }
};

TEST_P(PlannerRules, HoldWithChunksOfAllSizes) { Run({}, 6000); }
TEST_P(PlannerRules, HoldWithEqualSizes) { Run({.equal_sizes = true}, 6000); }
TEST_P(PlannerRules, HoldWhereEverythingMayMove) {
  Run({.mixed_advice = false, .busy = false}, 3000);
}

// A second planner, whose scratch has seen other plans, answers the same.
TEST_P(PlannerRules, APlanDependsOnNothingElse) {
  for (uint32_t seed = 1; seed <= 1000; ++seed) {
    std::mt19937 rng(seed), same(seed), other(seed + 77777);
    const auto a = RandomWorld(rng, {}, GetParam());
    const auto b = RandomWorld(same, {}, GetParam());
    const auto before = RandomWorld(other, {}, GetParam());
    Planner planner(&b->policy());
    planner.Make(PlanRequest(before->request), *before);
    if (GetParam() == "random") continue;  // It has drawn from its seed.
    const Plan expected = a->Make();
    const Plan plan = planner.Make(b->request, *b);
    ASSERT_EQ(plan.evict, expected.evict) << "seed " << seed;
    ASSERT_EQ(plan.fetch, expected.fetch) << "seed " << seed;
    ASSERT_EQ(plan.in_place, expected.in_place) << "seed " << seed;
    ASSERT_EQ(plan.wait, expected.wait) << "seed " << seed;
  }
}

// Where nothing runs and nothing moves, a plan is never empty-handed: work is fetched for, served
// in place, or ready. Carried out again and again, it comes to an end.
TEST_P(PlannerRules, TheHeadIsAlwaysGotReadyInTheEnd) {
  for (uint32_t seed = 1; seed <= 1000; ++seed) {
    std::mt19937 rng(seed);
    const auto world = RandomWorld(rng, {.busy = false}, GetParam());
    PlanRequest& request = world->request;
    if (request.queue.empty()) continue;
    request.released = 0;
    request.room += request.room_coming;
    request.room_coming = request.must_free = Bytes(0);
    request.max_fetches = std::max(request.max_fetches, 1u);
    request.max_evictions = std::max(request.max_evictions, 1u);
    for (int round = 0;; ++round) {
      ASSERT_LT(round, 500) << "seed " << seed << " goes on for ever";
      const Plan plan = world->Make();
      if (!plan.in_place.empty()) break;
      for (const ChunkIndex c : plan.evict) {
        world->At(c).on_device = false;
        world->policy().OnRemove(c);
        request.room += world->Get(c).size;
      }
      for (const ChunkIndex c : plan.fetch) {
        ASSERT_LE(world->Get(c).size, request.room) << "seed " << seed;
        world->At(c).on_device = true;
        world->policy().OnInsert(c);
        request.room -= world->Get(c).size;
      }
      if (!plan.evict.empty() || !plan.fetch.empty()) continue;
      ASSERT_FALSE(plan.wait) << "seed " << seed << " waits for nothing";
      for (const ChunkIndex c : request.queue[0].chunks) {
        const ChunkView v = world->Get(c);
        ASSERT_TRUE(v.on_device || !v.movable || v.prefer_host) << "seed " << seed;
      }
      break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PlannerRules, ::testing::ValuesIn(PolicyNames()),
                         [](const auto& i) { return std::string(i.param); });

}  // namespace
}  // namespace vramspan
