#include "tests/placement/simulated_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>

namespace vramspan {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class Run final : public ResidencyView {
 public:
  explicit Run(const SimulatedSetup& setup)
      : setup_(setup), chunks_(setup.sizes.size()), room_(setup.capacity) {
    policy_ = MakePolicy(setup.policy).value();
    planner_ = std::make_unique<Planner>(policy_.get());
    for (const Bytes size : setup.sizes) {
      if (size.value != 0) unit_ = std::min(unit_, static_cast<double>(size.value));
    }
    for (const ChunkIndex c : setup.resident) {
      chunks_[c.value].on_device = true;
      room_ -= Size(c);
      policy_->OnInsert(c);
    }
  }

  SimulatedResult Go() {
    while (done_ < setup_.works.size()) {
      for (bool any = true; any;) {
        any = ReleaseReady();
        any |= StartMoves();
      }
      if (running_until_ == kNever && released_ > done_) running_until_ = now_ + setup_.work_time;
      const double next = std::min({running_until_, in_.until, out_.until});
      if (next == kNever) return result_;
      now_ = next;
      if (running_until_ <= now_) FinishWork();
      if (in_.until <= now_) FinishFetch();
      if (out_.until <= now_) FinishEvict();
    }
    result_.finished = true;
    result_.elapsed = now_;
    return result_;
  }

  ChunkView Get(ChunkIndex c) const override {
    const State& s = chunks_[c.value];
    return {.size = Size(c),
            .on_device = s.on_device,
            .busy = s.users != 0 || s.moving,
            .incoming = s.on_device && s.moving};
  }

 private:
  struct State {
    bool on_device = false;  // Or on the way there.
    bool moving = false;
    uint32_t users = 0;
  };
  // One copy after another.
  struct Engine {
    std::deque<ChunkIndex> copies;
    double until = kNever;
  };

  Bytes Size(ChunkIndex c) const { return setup_.sizes[c.value]; }

  bool ReleaseReady() {
    bool any = false;
    while (released_ < setup_.works.size() && released_ - done_ < setup_.release_ahead) {
      const Chunks& work = setup_.works[released_];
      bool lacks = false;
      for (const ChunkIndex c : work) {
        if (chunks_[c.value].moving) return any;
        lacks |= !chunks_[c.value].on_device;
      }
      if (lacks && !in_place_) return any;
      result_.in_place += lacks;
      in_place_ = false;
      for (const ChunkIndex c : work) {
        ++chunks_[c.value].users;
        policy_->OnUse(c);
      }
      ++released_;
      any = true;
    }
    return any;
  }

  bool StartMoves() {
    if (released_ == setup_.works.size()) return false;
    if (!setup_.prefetch && !HeadLacks()) return false;
    const size_t first = setup_.show_released ? done_ : released_;
    const size_t count = std::min<size_t>(setup_.works.size() - first, setup_.look_ahead);
    std::vector<QueuedWork> queue;
    for (size_t i = first; i < first + count; ++i)
      queue.push_back({.id = i, .chunks = setup_.works[i]});
    PlanRequest request;
    request.queue = queue;
    request.released = static_cast<uint32_t>(released_ - first);
    if (request.released >= count) return false;
    request.room = room_;
    request.room_coming = coming_;
    request.horizon = Bytes(uint64_t{1} << 50);
    request.ahead = setup_.ahead;
    request.max_fetches = setup_.moves_at_once - static_cast<uint32_t>(in_.copies.size());
    request.max_evictions = setup_.moves_at_once - static_cast<uint32_t>(out_.copies.size());
    if (!setup_.prefetch) request.max_fetches = std::min(request.max_fetches, 1u);
    const Plan plan = planner_->Make(request, *this);
    EXPECT_LE(plan.fetch.size(), request.max_fetches);
    EXPECT_LE(plan.evict.size(), request.max_evictions);
    for (const ChunkIndex c : plan.evict) StartEvict(c);
    bool any = !plan.evict.empty();
    for (const ChunkIndex c : plan.fetch) {
      if (Size(c) > room_) break;
      StartFetch(c);
      any = true;
    }
    if (!plan.in_place.empty()) {
      EXPECT_FALSE(plan.wait);
      EXPECT_EQ(plan.in_place.size(), 1u);
      EXPECT_EQ(plan.in_place[0], request.released);
      any |= !in_place_;
      in_place_ = true;
    }
    return any;
  }

  bool HeadLacks() const {
    bool lacks = false;
    for (const ChunkIndex c : setup_.works[released_]) {
      if (chunks_[c.value].moving) return false;
      lacks |= !chunks_[c.value].on_device;
    }
    return lacks;
  }

  void StartEvict(ChunkIndex c) {
    State& s = chunks_[c.value];
    ASSERT_TRUE(s.on_device && !s.moving && s.users == 0) << "evicts chunk " << c.value;
    s.moving = true;
    coming_ += Size(c);
    ++result_.evictions;
    Enqueue(&out_, c, setup_.evict_time);
  }
  void StartFetch(ChunkIndex c) {
    State& s = chunks_[c.value];
    ASSERT_TRUE(!s.on_device && !s.moving && s.users == 0) << "fetches chunk " << c.value;
    s.moving = s.on_device = true;
    room_ -= Size(c);
    ++result_.fetches;
    Enqueue(&in_, c, setup_.fetch_time);
  }
  void FinishEvict() {
    const ChunkIndex c = Dequeue(&out_, setup_.evict_time);
    chunks_[c.value] = {};
    coming_ -= Size(c);
    room_ += Size(c);
    policy_->OnRemove(c);
  }
  void FinishFetch() {
    const ChunkIndex c = Dequeue(&in_, setup_.fetch_time);
    chunks_[c.value].moving = false;
    policy_->OnInsert(c);
  }
  void FinishWork() {
    for (const ChunkIndex c : setup_.works[done_]) --chunks_[c.value].users;
    ++done_;
    running_until_ = kNever;
    result_.fetches_after.push_back(result_.fetches);
  }

  double Time(ChunkIndex c, double time) const { return time * Size(c).value / unit_; }
  void Enqueue(Engine* engine, ChunkIndex c, double time) {
    engine->copies.push_back(c);
    if (engine->copies.size() == 1) engine->until = now_ + Time(c, time);
  }
  ChunkIndex Dequeue(Engine* engine, double time) {
    const ChunkIndex c = engine->copies.front();
    engine->copies.pop_front();
    engine->until = engine->copies.empty() ? kNever : now_ + Time(engine->copies.front(), time);
    return c;
  }

  const SimulatedSetup& setup_;
  std::unique_ptr<EvictionPolicy> policy_;
  std::unique_ptr<Planner> planner_;
  std::vector<State> chunks_;
  Bytes room_;
  Bytes coming_;
  double unit_ = kNever;  // Bytes of the smallest chunk.
  Engine in_, out_;
  double now_ = 0;
  double running_until_ = kNever;
  size_t released_ = 0;
  size_t done_ = 0;
  bool in_place_ = false;  // The head is to be released as it is.
  SimulatedResult result_;
};

}  // namespace

SimulatedResult Simulate(const SimulatedSetup& setup) { return Run(setup).Go(); }

}  // namespace vramspan
