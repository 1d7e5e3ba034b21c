#include "runtime/scheduler/trials.h"

#include <algorithm>

#include "runtime/placement/move_limits.h"

namespace vramspan {
namespace {

constexpr Duration kTrialPatience{kTrialPatienceNs};
constexpr Duration kResidentPatience{kResidentPatienceNs};

}  // namespace

void Trials::OfferVictims(PlaceMerit::Take take) {
  policy_.OfferVictims([&](ChunkIndex victim) {
    const Chunk& v = residency_[victim];
    return residency_.Movable(v) && v.on_device && take(victim, v.size());
  });
}

ServedArguments Trials::Price(Work* work, Bytes room) {
  ServedArguments arguments;
  for (size_t i = 0; i < work->uses.size(); ++i) {
    const auto& [chunk, how] = work->uses[i];
    const Chunk& c = residency_[chunk];
    if (!work->serves(i)) arguments.Add(how.slot, how.part.In(c.size()), c.size(), c.on_device);
  }
  arguments.Judge(work->kernel, &history_);
  if (!arguments.ServesAny()) return arguments;
  const auto offer = [this](PlaceMerit::Take take) { OfferVictims(take); };
  PlaceMerit merit(heat_, room, offer);
  work->wanted.in_place.resize(work->uses.size());
  for (size_t i = 0; i < work->uses.size(); ++i) {
    const auto& [chunk, how] = work->uses[i];
    if (work->serves(i) || !arguments.Serves(how.slot) || work->trial.soon.contains(chunk))
      continue;
    // What is on the device as yet may leave before the launch runs: it is not to come back for it.
    const Chunk& c = residency_[chunk];
    work->wanted.in_place[i] =
        c.on_device || !residency_.Movable(c) || !merit.Worth(chunk, c.size());
  }
  Want(work);
  return arguments;
}

void Trials::PriceNew(Work* work, Bytes room) {
  work->trial.soon = reuse_.Launch(work->signature);
  const ServedArguments arguments = Price(work, room);
  for (const auto& [chunk, how] : work->uses) {
    reuse_.Touch(chunk, how.part.In(residency_[chunk].size()),
                 !how.once && !arguments.Serves(how.slot));
  }
}

bool Trials::Try(Work* head) {
  head->trial.tried = true;
  // One argument, one chunk: what that adds is the trial's doing. The more of it, the better that
  // is seen.
  size_t chosen = head->uses.size();
  Bytes most;
  KernelHistory::Remote remote;
  for (size_t i = 0; i < head->uses.size(); ++i) {
    const auto& [chunk, how] = head->uses[i];
    const Chunk& c = residency_[chunk];
    if (head->serves(i) || c.on_device || Residency::Moving(c) || !residency_.Movable(c)) continue;
    if (head->trial.soon.contains(chunk)) continue;
    if (chosen != head->uses.size() && how.slot != head->uses[chosen].how.slot) return false;
    const Bytes named = how.part.In(c.size());
    if (chosen == head->uses.size() || named >= most) {
      chosen = i;
      most = named;
    }
    remote.named += named;
    remote.moved += c.size();
  }
  if (chosen == head->uses.size()) return false;
  const uint16_t slot = head->uses[chosen].how.slot;
  if (slot == LaunchSample::kSeveral ||
      history_.For(head->kernel, slot, remote) != KernelHistory::Verdict::kTry) {
    return false;
  }
  head->wanted.in_place.resize(head->uses.size());
  head->wanted.in_place[chosen] = 1;
  trial_ = head->uses[chosen].chunk;
  trial_for_ = head->id;
  waits_.reset();
  ++made_;
  Want(head);
  return true;
}

bool Trials::WaitsForCopies(bool moving, Instant now) {
  if (!moving) return false;
  if (!waits_.has_value()) waits_ = now;
  return now - *waits_ < kAlone;
}

uint16_t Trials::TriedSlot(const Work& kernel) const {
  if (!OnTrial(kernel) || residency_[trial_].on_device) return LaunchSample::kSeveral;
  for (const auto& [chunk, how] : kernel.uses) {
    if (chunk == trial_) return how.slot;
  }
  return LaunchSample::kSeveral;
}

void Trials::Released(Work* kernel) {
  LaunchSample& sample = kernel->trial.sample;
  sample.kernel = kernel->kernel;
  const bool priced = history_.HasPasses(kernel->kernel);
  const uint16_t tried = TriedSlot(*kernel);
  for (size_t i = 0; i < kernel->uses.size(); ++i) {
    const auto& [chunk, how] = kernel->uses[i];
    const Chunk& c = residency_[chunk];
    const Bytes named = how.part.In(c.size());
    heat_.Use(chunk, named, c.size());
    const std::optional<double> passes =
        priced ? history_.Passes(kernel->kernel, how.slot, named) : std::nullopt;
    const double served = passes.value_or(0) * prices_.ServeNanoseconds(named);
    // What its place saves, each time it is used.
    if (passes) policy_.OnPrice(chunk, static_cast<uint32_t>(std::min(served, 4e9)), c.size());
    sample.touched += named;
    if (c.on_device) continue;
    // What is known to be cheap where it lies is no part of the trial beside it.
    if (tried != LaunchSample::kSeveral && how.slot != tried && passes && kernel->serves(i)) {
      sample.apart += named;
      sample.apart_nanoseconds += static_cast<uint64_t>(served);
    } else {
      const bool first = sample.remote == sample.apart;
      sample.slot = first || sample.slot == how.slot ? how.slot : LaunchSample::kSeveral;
      sample.moved += c.size();
    }
    sample.remote += named;
  }
  // Of so much the price is another.
  if (sample.apart > KernelHistory::kWide) sample.slot = LaunchSample::kSeveral;
  const bool remote = sample.remote != Bytes(0);
  if (remote && sample.slot != LaunchSample::kSeveral) {
    for (const auto& [chunk, how] : kernel->uses) {
      if (how.slot == sample.slot) sample.argument += how.part.In(residency_[chunk].size());
    }
  }
  // One argument that is served untried is seen as a trial is.
  const bool trial =
      remote && (OnTrial(*kernel) ||
                 (sample.slot != LaunchSample::kSeveral && !kernel->run_in_place &&
                  history_.WantsSample(kernel->kernel, sample.slot, sample.remote - sample.apart)));
  kernel->timed = trial || (!remote && !history_.KnowsResident(kernel->kernel));
  if (!kernel->timed) return;
  ++timed_;
  timed_until_ =
      std::max(timed_until_, kernel->released_at + (trial ? kTrialPatience : kResidentPatience));
}

void Trials::Finished(const Work& kernel, Instant began, Duration gap, bool disturbed,
                      Instant now) {
  timed_ -= kernel.timed;
  const Duration took = now - std::max(kernel.released_at, began);
  if (took <= Duration::zero() || disturbed) return;
  if (gap > kFineEnough && gap * kResolution > took) return;
  LaunchSample sample = kernel.trial.sample;
  sample.nanoseconds = static_cast<uint64_t>(took.count());
  sample.unsure = static_cast<uint64_t>(std::max(gap, Duration(0)).count());
  history_.Record(sample);
}

}  // namespace vramspan
