#include "tests/scheduler/simulation/scripted.h"

#include <algorithm>
#include <utility>

namespace vramspan::simulation {
namespace {

SchedulerOptions WithMemory(SchedulerOptions options, uint32_t chunks) {
  options.device_memory = Scripted::kChunk * chunks;
  return options;
}

}  // namespace

Scripted::Scripted(uint32_t on_device, uint32_t on_host, SchedulerOptions options)
    : table_(ChunkTable::Create(on_device + on_host).value()),
      policy_(MakePolicy("lru").value()),
      budget_(kChunk * on_device),
      used_(budget_),
      scheduler_(table_.get(), policy_.get(), WithMemory(options, on_device), this) {
  for (uint32_t i = 0; i < on_device + on_host; ++i) {
    const ChunkIndex index = table_->Add().value();
    Chunk& c = (*table_)[index];
    c.log2_size = 24;
    c.allocation = 1;
    c.movable = true;
    c.Transition(ChunkState::kFresh);
    c.on_device = i < on_device;
    c.Transition(c.on_device ? ChunkState::kDevice : ChunkState::kHost);
    if (c.on_device) policy_->OnInsert(index);
  }
  scheduler_.Track(Tracking::kAll);
}

std::unique_ptr<Launch> Scripted::Kernel(std::vector<uint32_t> uses, Duration takes) {
  auto work = std::make_unique<Launch>();
  work->id = next_id_++;
  work->takes = takes;
  for (const uint32_t c : uses) {
    work->all.push_back({ChunkIndex(c), {.slot = 0, .kernels_only = true}});
  }
  work->uses = work->all;
  return work;
}

std::unique_ptr<Launch> Scripted::Copy(std::vector<uint32_t> uses) {
  auto work = Kernel(std::move(uses), std::chrono::microseconds(50));
  for (ChunkUse& use : work->all) use.how.kernels_only = false;
  work->copy = true;
  return work;
}

void Scripted::Submit(Launch* work) {
  work->submitted_at = now_;
  scheduler_.Want(work);
  if (scheduler_.work().Submit(work, At())) {
    Runs(work);
  } else {
    scheduler_.work().SetInSubmission(work, true);
  }
  Act();
}

void Scripted::Return(Launch* work) {
  scheduler_.work().SetInSubmission(work, false);
  work->submitted = true;
  Act();
}

void Scripted::Runs(Launch* work) {
  if (work->kind == Work::Kind::kPin) return;
  running_.push_back(work);
  if (!work->for_ever) After(work->takes, [this, work] { End(work); });
}

void Scripted::End(Launch* work) {
  std::erase(running_, work);
  scheduler_.work().Finished(work, Instant(), /*at_once=*/true, now_);
}

void Scripted::After(Duration time, std::function<void()> then) {
  timed_.push_back({now_ + time, std::move(then)});
}

void Scripted::DropHostCopy(ChunkIndex index) {
  Chunk& c = (*table_)[index];
  if (c.state != ChunkState::kDeviceTwin && c.state != ChunkState::kDeviceStale) return;
  c.Transition(ChunkState::kDevice);
}

void Scripted::ForEachRunning(absl::FunctionRef<void(const Work&)> visit) {
  for (const Launch* work : running_) visit(*work);
}

Moment Scripted::At() const {
  return {.now = now_,
          .budget = budget_,
          .used = used_,
          .available = used_ < budget_ ? budget_ - used_ : Bytes(0)};
}

void Scripted::Pass(Duration time) {
  const Instant end = now_ + time;
  for (Act();; Act()) {
    // With equal times, what was said first happens first.
    const auto next = std::min_element(timed_.begin(), timed_.end(),
                                       [](const Timed& a, const Timed& b) { return a.at < b.at; });
    const Instant due = calling_ ? Instant::max() : scheduler_.Due(At(), Instant::max());
    const Instant first = next == timed_.end() ? due : std::min(due, next->at);
    if (first > end) break;
    now_ = std::max(now_ + Duration(due <= now_ ? 1 : 0), first);
    if (next == timed_.end() || next->at > now_) continue;
    const std::function<void()> then = std::move(next->then);
    timed_.erase(next);
    then();
  }
  now_ = end;
  Act();
}

Duration Scripted::UntilReleased(const Launch& work, Duration most) {
  const Instant begin = now_;
  while (!work.released && now_ - begin < most) Pass(std::chrono::microseconds(50));
  return work.released ? work.released_at - begin : most + Duration(1);
}

void Scripted::Act() {
  while (!calling_) {
    scheduler_.work().Looked(now_);
    const Action action = scheduler_.Next(At());
    if (action.kind == Action::Kind::kNothing) return;
    Perform(action);
  }
}

void Scripted::Perform(const Action& action) {
  const auto call = [this](std::function<void()> then) {
    calling_ = true;
    ++remaps_;
    After(kCall, [this, then = std::move(then)] {
      calling_ = false;
      then();
    });
  };
  ChunkMove* const move = action.move;
  switch (action.kind) {
    case Action::Kind::kRelease: {
      auto* const work = static_cast<Launch*>(action.work);
      scheduler_.work().Released(work, At());
      return Runs(work);
    }
    case Action::Kind::kFetch:
      used_ += kChunk;
      (*table_)[move->chunk].device_slot = 0;
      return StartCopy(move);
    case Action::Kind::kEvict:
      return StartCopy(move);
    case Action::Kind::kRemap:
      scheduler_.BeginRemap(move, now_);
      return call([this, move] { EndRemap(move); });
    case Action::Kind::kMend:
      return call([this, move] { EndRemap(move); });
    case Action::Kind::kUnmap:
      return call([this, move] { scheduler_.Unmapped(move, true, now_); });
    case Action::Kind::kGiveUp:
      if (move->in) used_ -= kChunk;
      return scheduler_.GiveUp(move, /*failed=*/false, now_);
    case Action::Kind::kDetach:
      ++detached_;
      if (move->in) used_ -= kChunk;
      return scheduler_.moves().Detach(move);
    case Action::Kind::kMapOnHost: {
      const bool ok = failing_maps == 0 || failing_maps-- == 0;
      return call([this, chunk = action.chunk, ok] { scheduler_.MappedOnHost(chunk, ok, now_); });
    }
    default:
      return;
  }
}

void Scripted::StartCopy(ChunkMove* move) {
  scheduler_.moves().Started(move);
  if (move->clean) return scheduler_.moves().Copied(move, {});
  if (copies_stuck) return;
  const bool ok = failing_copies == 0 || failing_copies-- == 0;
  After(kCopy, [this, move, ok] { scheduler_.moves().Copied(move, {.ok = ok}); });
}

void Scripted::EndRemap(ChunkMove* move) {
  RemapOutcome outcome = RemapOutcome::kDone;
  if (failing_remaps != 0) {
    --failing_remaps;
    outcome = RemapOutcome::kAsBefore;
  } else if (lost_remaps != 0) {
    --lost_remaps;
    outcome = RemapOutcome::kLost;
  }
  const bool left = outcome == RemapOutcome::kDone && !move->in;
  scheduler_.Remapped(move, outcome, At());
  if (left) used_ -= kChunk;
}

}  // namespace vramspan::simulation
