// A planner keeps what it saw from one plan to the next; what it answers must be what one that
// never saw anything does.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "tests/placement/world.h"

namespace vramspan {
namespace {

constexpr uint32_t kChunks = 24;

class Changing final : public ResidencyView {
 public:
  Changing(const std::vector<ChunkView>& views, const std::vector<ChunkIndex>* changed)
      : views_(views), changed_(changed) {}
  ChunkView Get(ChunkIndex chunk) const override { return views_[chunk.value]; }
  std::optional<absl::Span<const ChunkIndex>> Changed() const override {
    if (changed_ == nullptr) return std::nullopt;
    return *changed_;
  }

 private:
  const std::vector<ChunkView>& views_;
  const std::vector<ChunkIndex>* const changed_;
};

// A queue that goes on as queues do: works end at its front and now and then elsewhere, come at its
// back, and are changed; and chunks that move meanwhile.
class Life {
 public:
  explicit Life(uint32_t seed, bool advised) : rng_(seed), advised_(advised) {
    policy_ = MakePolicy(seed % 4 < 2 ? "lru" : "cost").value();
    for (uint32_t id = 1; id <= kChunks; ++id) Change(ChunkIndex(id));
  }

  void Step() {
    if (steps_++ != 0) changed_.clear();
    for (uint32_t n = Below(4); n > 0; --n) Change(ChunkIndex(1 + Below(kChunks)));
    if (!OneIn(3)) ChangeQueue();
    const uint64_t version = request_.queue_version;
    request_ = {};
    request_.queue = queue_;
    request_.queue_version = version;
    TellWhatChanged();
    request_.released = Below(std::min<size_t>(queue_.size(), 3) + 1);
    request_.room = MiB(2) * Below(4);
    request_.room_coming = MiB(2) * Below(3);
    request_.horizon = OneIn(3) ? MiB(2) * Below(30) : GiB(1024);
    request_.must_free = OneIn(5) ? MiB(2) * Below(6) : Bytes(0);
    request_.per_byte = OneIn(2) ? 0 : static_cast<double>(Below(8)) / MiB(16).value;
    request_.ahead = MiB(2) * Below(6);
    request_.max_fetches = OneIn(5) ? 0 : 1 + Below(8);
    request_.max_evictions = OneIn(5) ? 0 : 1 + Below(8);
  }

  Plan Make(Planner& planner, bool says_what_changed) const {
    return planner.Make(request_, Changing(views_, says_what_changed ? &changed_ : nullptr));
  }
  EvictionPolicy* policy() { return policy_.get(); }
  size_t tails() const { return tails_; }

 private:
  struct Work {
    Chunks chunks;
    uint64_t duration;
    bool explicit_request;
    uint64_t version;
    uint64_t id;  // No other has it.
  };

  void ChangeQueue() {
    for (uint32_t n = Below(4); n > 0 && !works_.empty(); --n) {
      works_.erase(works_.begin() + (OneIn(6) ? Below(works_.size()) : 0));
    }
    if (OneIn(20)) works_.clear();
    if (OneIn(10) && !works_.empty()) works_[Below(works_.size())] = NewWork();
    if (OneIn(10)) {
      // Drawn before the work is, by any compiler.
      const uint32_t place = Below(works_.size() + 1);
      works_.insert(works_.begin() + place, NewWork());
    }
    for (uint32_t n = OneIn(20) ? 40 : Below(4); n > 0; --n) works_.push_back(NewWork());

    queue_.clear();
    for (const Work& w : works_) {
      queue_.push_back({.chunks = w.chunks,
                        .duration = w.duration,
                        .explicit_request = w.explicit_request,
                        .version = w.version});
    }
    // At times nothing is said.
    request_.queue_version = OneIn(4) ? 0 : steps_;
  }

  // How the queue goes on from the one before, at times; and at times by fewer works than it could.
  void TellWhatChanged() {
    std::vector<uint64_t> ids;
    for (const Work& w : works_) ids.push_back(w.id);
    const auto goes_on = [&](size_t gone) {
      size_t same = 0;
      while (same < ids.size() && gone + same < told_.size() && told_[gone + same] == ids[same]) {
        ++same;
      }
      return same;
    };
    size_t gone = 0;
    while (gone < told_.size() && (ids.empty() || told_[gone] != ids[0])) ++gone;
    if (told_version_ != 0 && !OneIn(4)) {
      request_.queue_since = told_version_;
      request_.queue_gone = gone;
      request_.queue_same = OneIn(4) ? Below(goes_on(gone) + 1) : goes_on(gone);
      TellTail(ids);
    }
    told_ = std::move(ids);
    told_version_ = request_.queue_version;
  }

  // Where works of the queue before go on behind those that changed.
  void TellTail(const std::vector<uint64_t>& ids) {
    size_t there = request_.queue_gone + request_.queue_same;
    auto here = ids.end();
    for (; there < told_.size(); ++there) {
      here = std::find(ids.begin() + request_.queue_same, ids.end(), told_[there]);
      if (here != ids.end()) break;
    }
    request_.queue_left = there - request_.queue_gone - request_.queue_same;
    request_.queue_came = here - ids.begin() - request_.queue_same;
    request_.queue_tail = 0;
    while (here != ids.end() && there < told_.size() && *here == told_[there]) {
      ++here;
      ++there;
      ++request_.queue_tail;
    }
    if (OneIn(4)) request_.queue_tail = Below(request_.queue_tail + 1);
    tails_ += request_.queue_tail != 0;
  }

  uint32_t Below(size_t bound) { return static_cast<uint32_t>(rng_() % bound); }
  bool OneIn(uint32_t n) { return Below(n) == 0; }

  void Change(ChunkIndex id) {
    ChunkView& v = views_[id.value];
    v = {.size = MiB(id.value % 3 == 0 ? 4 : 2), .on_device = OneIn(2), .busy = OneIn(4)};
    v.movable = !OneIn(10);
    v.empty = !v.busy && empty_ && OneIn(3);
    if (advised_) {
      v.prefer_host = OneIn(6);
      v.claim = v.prefer_host || OneIn(4) ? Claim::kNone : OneIn(4) ? Claim::kKeep : v.claim;
    }
    changed_.push_back(id);
    v.on_device ? policy_->OnInsert(id) : policy_->OnRemove(id);
  }

  Work NewWork() {
    Work work{.chunks = {},
              .duration = 1 + Below(3),
              .explicit_request = advised_ && OneIn(4),
              .version = OneIn(4) ? 0 : ++versions_,
              .id = ++ids_};
    for (uint32_t n = Below(6); n > 0; --n) {
      work.chunks.push_back(ChunkIndex(Below(most_ + 1)));  // At times none.
    }
    return work;
  }

  std::mt19937 rng_;
  uint32_t steps_ = 0;
  uint64_t versions_ = 0, ids_ = 0;
  const bool advised_;
  const bool empty_ = OneIn(2);                             // Some chunks hold nothing.
  const uint32_t most_ = OneIn(2) ? kChunks : kChunks / 2;  // The highest that works name.
  std::unique_ptr<EvictionPolicy> policy_;
  std::vector<ChunkView> views_ = std::vector<ChunkView>(kChunks + 1);
  std::vector<ChunkIndex> changed_;
  std::vector<Work> works_;
  std::vector<QueuedWork> queue_;
  PlanRequest request_;
  std::vector<uint64_t> told_;  // Ids of the queue before.
  uint64_t told_version_ = 0;
  size_t tails_ = 0;  // That were told.
};

std::string Text(const Plan& plan) {
  std::string text = "evict";
  for (const ChunkIndex c : plan.evict) text += " " + std::to_string(c.value);
  text += ", fetch";
  for (const ChunkIndex c : plan.fetch) text += " " + std::to_string(c.value);
  text += ", in place";
  for (const uint32_t w : plan.in_place) text += " " + std::to_string(w);
  return text + (plan.wait ? ", wait" : "");
}

TEST(PlannerAgain, PlansAsOneThatSeesItAllForTheFirstTime) {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    Life life(seed, /*advised=*/seed % 2 == 0);
    Planner told(life.policy()), asks(life.policy());
    size_t moves = 0;
    for (uint32_t step = 0; step < 500; ++step) {
      life.Step();
      Planner fresh(life.policy());
      const Plan plan = life.Make(fresh, /*says_what_changed=*/false);
      ASSERT_EQ(Text(life.Make(told, /*says_what_changed=*/true)), Text(plan))
          << "seed " << seed << ", step " << step;
      ASSERT_EQ(Text(life.Make(asks, /*says_what_changed=*/false)), Text(plan))
          << "seed " << seed << ", step " << step;
      moves += plan.evict.size() + plan.fetch.size();
    }
    EXPECT_GT(moves, 300u);
    EXPECT_GT(life.tails(), 50u);
  }
}

}  // namespace
}  // namespace vramspan
