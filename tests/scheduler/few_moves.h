// A scheduler over a few chunks, for tests of what it wants done and when.
#ifndef VRAMSPAN_TESTS_SCHEDULER_FEW_MOVES_H_
#define VRAMSPAN_TESTS_SCHEDULER_FEW_MOVES_H_

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "runtime/scheduler/scheduler.h"
#include "tests/scheduler/few_chunks.h"

namespace vramspan {

// The first `there` of the chunks are on the device, which has room for so many and no more.
class FewMoves final : public SchedulerOwner {
 public:
  FewMoves(uint32_t count, uint32_t there, bool traced = true, bool always_prints = false)
      : chunks_(count),
        scheduler_(&chunks_.table(), policy_.get(),
                   {.traced = traced,
                    .idle_fetches = false,
                    .always_prints = always_prints,
                    .device_memory = MiB(16) * there,
                    .prices = Prices()},
                   this) {
    budget_ = MiB(16) * there;
    scheduler_.Track(Tracking::kAll);
    for (uint32_t c = 1; c <= there; ++c) {
      chunks_.Fetch(c);
      policy_->OnInsert(ChunkIndex(c));
      used_ += MiB(16);
    }
  }

  void DropHostCopy(ChunkIndex chunk) override {
    dropped_.push_back(chunk.value);
    chunks_[chunk.value].Transition(ChunkState::kDevice);
  }
  void ForEachRunning(absl::FunctionRef<void(const Work&)> visit) override {
    for (const Work* work : running_) visit(*work);
  }

  Scheduler& operator*() { return scheduler_; }
  Scheduler* operator->() { return &scheduler_; }
  Chunk& chunk(uint32_t c) { return chunks_[c]; }
  Residency& residency() { return chunks_.residency(); }
  void Replace(uint32_t chunk) { chunks_.Replace(chunk); }
  const std::vector<uint32_t>& dropped() const { return dropped_; }

  Moment At(int64_t us) {
    return {.now = Instant(std::chrono::seconds(10) + std::chrono::microseconds(us)),
            .budget = budget_,
            .used = used_,
            .available = used_ < budget_ ? budget_ - used_ : Bytes(0),
            .follows_writers = follows_writers_};
  }
  void FollowWriters() { follows_writers_ = true; }
  void SetBudget(Bytes budget) { budget_ = budget; }
  // It is submitted, and held or runs.
  bool Submit(Work* work, int64_t us) {
    work->submitted_at = At(us).now;
    work->submitted = true;
    const bool runs = scheduler_.work().Submit(work, At(us));
    if (runs) running_.push_back(work);
    return runs;
  }
  void End(Work* work, int64_t us) {
    std::erase(running_, work);
    scheduler_.work().Finished(work, work->released_at, /*at_once=*/true, At(us).now);
    scheduler_.work().Looked(At(us).now);
  }
  // What is wanted next; what that takes of device memory is taken, and work released.
  Action Next(int64_t us) {
    const Action action = scheduler_.Next(At(us));
    if (action.kind == Action::Kind::kRelease) {
      scheduler_.work().Released(action.work, At(us));
      running_.push_back(action.work);
    } else if (action.kind == Action::Kind::kFetch) {
      chunks_[action.move->chunk.value].device_slot = 0;
      used_ += action.move->size;
    }
    return action;
  }
  // Expects the next to be of the kind, and of the chunk.
  ChunkMove* Expect(Action::Kind kind, uint32_t chunk, int64_t us) {
    const Action action = Next(us);
    EXPECT_EQ(action.kind, kind);
    EXPECT_NE(action.move, nullptr);
    if (action.move != nullptr) {
      EXPECT_EQ(action.move->chunk, ChunkIndex(chunk));
    }
    return action.move;
  }
  void ExpectNothing(int64_t us) { EXPECT_EQ(Next(us).kind, Action::Kind::kNothing); }
  void Copy(ChunkMove* move, const CopyOutcome& outcome = {}) {
    scheduler_.moves().Started(move);
    scheduler_.moves().Copied(move, outcome);
  }
  void Remap(ChunkMove* move, int64_t us, RemapOutcome outcome = RemapOutcome::kDone) {
    scheduler_.BeginRemap(move, At(us).now);
    if (outcome == RemapOutcome::kDone && !move->in) used_ -= move->size;
    scheduler_.Remapped(move, outcome, At(us));
  }
  // What was taken for a move to the device is given back.
  void Return(Bytes size) { used_ -= size; }

 private:
  bool follows_writers_ = false;
  FewChunks chunks_;
  std::unique_ptr<EvictionPolicy> policy_ = MakePolicy("lru").value();
  Scheduler scheduler_;
  Bytes budget_, used_;
  std::vector<const Work*> running_;
  std::vector<uint32_t> dropped_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_TESTS_SCHEDULER_FEW_MOVES_H_
