// The scheduler's owner and its policy, with a sink that is told what goes through them.
//
// Pure. One owner.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_TOLD_OWNER_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_TOLD_OWNER_H_

#include <memory>
#include <string_view>
#include <utility>

#include "runtime/placement/policy.h"
#include "runtime/scheduler/event_sink.h"
#include "runtime/scheduler/owner.h"

namespace vramspan {

// What the owner answers when the scheduler asks it.
class ToldOwner final : public SchedulerOwner {
 public:
  ToldOwner(SchedulerOwner* owner, EventSink* sink) : owner_(*owner), sink_(*sink) {}

  void DropHostCopy(ChunkIndex chunk) override {
    sink_.Dropped(chunk);
    owner_.DropHostCopy(chunk);
  }
  void ForEachRunning(absl::FunctionRef<void(const Work&)> visit) override {
    sink_.AskedWhatRuns();
    owner_.ForEachRunning([&](const Work& work) {
      sink_.Runs(work);
      visit(work);
    });
  }
  bool MakePlan(const Room& room, const Conditions& at, Plan* plan) override {
    return owner_.MakePlan(room, at, plan);
  }

 private:
  SchedulerOwner& owner_;
  EventSink& sink_;
};

// A policy as others than the scheduler tell it of chunks; the scheduler has decides().
class ToldPolicy final : public EvictionPolicy {
 public:
  using Kind = SchedulerEvent::Kind;

  // `sink` outlives it.
  ToldPolicy(std::unique_ptr<EvictionPolicy> policy, EventSink* sink)
      : policy_(std::move(policy)), tell_(sink) {}

  EvictionPolicy* decides() { return policy_.get(); }

  std::string_view name() const override { return policy_->name(); }
  void OnInsert(ChunkIndex chunk) override {
    tell_({.kind = Kind::kInserted, .chunk = chunk}, [&] { policy_->OnInsert(chunk); });
  }
  void OnRemove(ChunkIndex chunk) override {
    tell_({.kind = Kind::kRemoved, .chunk = chunk}, [&] { policy_->OnRemove(chunk); });
  }
  void Advise(ChunkIndex chunk, bool leaves_first, bool on_device) override {
    const auto value = static_cast<uint64_t>(leaves_first | on_device << 1);
    tell_({.kind = Kind::kAdvised, .chunk = chunk, .value = value},
          [&] { policy_->Advise(chunk, leaves_first, on_device); });
  }
  // The scheduler's alone.
  void OnUse(ChunkIndex chunk) override { policy_->OnUse(chunk); }
  void OnPrice(ChunkIndex chunk, uint32_t saved, Bytes size) override {
    policy_->OnPrice(chunk, saved, size);
  }
  bool Draws() const override { return policy_->Draws(); }
  void OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) override {
    policy_->OfferVictims(take);
  }

 private:
  const std::unique_ptr<EvictionPolicy> policy_;
  const EventTeller tell_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_TOLD_OWNER_H_
