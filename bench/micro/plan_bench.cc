// What a plan costs in a running mover, with all that is kept from plan to plan: a cycle of
// launches larger than the device, of which one ends, one is released and one comes between two
// plans. Moves take no time here.
#include <benchmark/benchmark.h>

#include <deque>
#include <memory>
#include <vector>

#include "runtime/placement/move_limits.h"
#include "runtime/scheduler/plan_maker.h"
#include "tests/scheduler/few_chunks.h"

namespace vramspan {
namespace {

constexpr Duration kDeadline = std::chrono::milliseconds(20);

class Cycle {
 public:
  // `launches` of two chunks each; three quarters of all chunks have room. `held` works are held.
  Cycle(uint32_t launches, uint32_t held)
      : launches_(launches),
        chunks_(2 * launches),
        policy_(MakePolicy("cost").value()),
        room_{.budget = ChunkBytes(FewChunks::kLog2) * (launches + launches / 2)} {
    works_.resize(held + 8);
    uses_.resize(works_.size());
    while (queue_.size() < held) Submit();
  }

  // From one launch to the next: what a mover's round does, but for the driver.
  void Step() {
    if (running_.size() > 4) {
      counts_.Ended(*running_.front());
      maker_.Ended(*running_.front());
      running_.pop_front();
    }
    Submit();
    bool wants_others = false;
    while (!queue_.empty() && readiness_.Ready(queue_.front(), Now(), &wants_others)) {
      Work* work = queue_.front();
      queue_.Pop(1);
      counts_.Unheld(*work);
      maker_.Released(work);
      counts_.Released(*work, policy_.get());
      running_.push_back(work);
      if (running_.size() > 4) break;
    }
  }
  // The plan alone is what is timed.
  size_t MakePlan() {
    room_.available = room_.used < room_.budget ? room_.budget - room_.used : Bytes(0);
    maker_.Make(room_, Now(), &plan_);
    return plan_.fetch.size() + plan_.evict.size();
  }
  void Move() {
    for (const ChunkIndex c : plan_.evict) Turn(c, false);
    for (const ChunkIndex c : plan_.fetch) Turn(c, true);
  }

 private:
  Conditions Now() { return {.running = true, .now = now_ += std::chrono::microseconds(10)}; }
  void Submit() {
    const size_t at = next_ % works_.size();
    Work& work = works_[at];
    work = Work();
    work.id = ++next_;
    work.held = true;
    work.kernel = 1 + next_ % launches_;
    const auto first = static_cast<uint32_t>(next_ % launches_) * 2 + 1;
    uses_[at] = {{ChunkIndex(first), {.slot = 0}}, {ChunkIndex(first + 1), {.slot = 1}}};
    work.uses = uses_[at];
    work.submitted_at = now_;
    work.signature = Sequence::Signature(work);
    trials_.Want(&work);
    trials_.PriceNew(&work, room_.available);
    counts_.Held(work);
    queue_.Push(&work);
    maker_.Submitted(&work);
  }
  void Turn(ChunkIndex index, bool in) {
    in ? chunks_.Fetch(index.value) : chunks_.Evict(index.value);
    in ? policy_->OnInsert(index) : policy_->OnRemove(index);
    in ? room_.used += residency_[index].size() : room_.used -= residency_[index].size();
    residency_.NoteChange(index);
  }

  const uint32_t launches_;
  FewChunks chunks_;
  std::unique_ptr<EvictionPolicy> policy_;
  Room room_;
  Residency& residency_ = chunks_.residency();
  WorkQueue queue_;
  WorkCounts counts_{&residency_};
  Trials trials_{&residency_, policy_.get(), Prices(), room_.budget};
  UnmappedChunks unmapped_{&residency_, &queue_, &counts_, kDeadline};
  Readiness readiness_{&residency_, &unmapped_, &trials_};
  Sequence sequence_;
  Patience patience_{kDeadline};
  PlanMaker maker_{
      {&residency_, &queue_, &counts_, &readiness_, &unmapped_, &trials_, &sequence_, &patience_},
      policy_.get(),
      Prices(),
      /*traced=*/true};
  std::vector<Work> works_;
  std::vector<std::vector<ChunkUse>> uses_;
  std::deque<Work*> running_;
  uint64_t next_ = 0;
  Instant now_{std::chrono::seconds(1)};
  Plan plan_;
};

// The forecast fills up to 256 works behind what is held.
void BM_Plan(benchmark::State& state) {
  Cycle cycle(static_cast<uint32_t>(state.range(0)), static_cast<uint32_t>(state.range(1)));
  uint64_t moves = 0;
  for (int i = 0; i < 4 * state.range(0); ++i) {
    cycle.Step();
    cycle.MakePlan();
    cycle.Move();
  }
  for (auto _ : state) {
    state.PauseTiming();
    cycle.Move();
    cycle.Step();
    state.ResumeTiming();
    moves += cycle.MakePlan();
  }
  state.counters["moves"] =
      benchmark::Counter(static_cast<double>(moves), benchmark::Counter::kAvgIterations);
}
BENCHMARK(BM_Plan)
    ->ArgNames({"launches", "held"})
    ->Args({400, 8})
    ->Args({4000, 8})
    ->Args({4000, 3000})
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(20000);

}  // namespace
}  // namespace vramspan
