// What traced kernels teach: where each finds its memory when it is let go, how long it then runs,
// and so what the next launch of it should have moved (placement/kernel_history.h). And the way
// back: what is hot and on the host, when there is room.
#include <absl/hash/hash.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "runtime/mover/mover.h"
#include "runtime/placement/move_limits.h"

namespace vramspan {
namespace {

// A duration is believed when the looks at the stream's mark were so much closer together, or
// closer than what a chunk's way over the bus takes.
constexpr int kResolution = 8;
constexpr std::chrono::microseconds kFineEnough{50};
constexpr std::chrono::nanoseconds kIdleFetchPeriod{kIdleFetchPeriodNs};
constexpr std::chrono::nanoseconds kTrialPatience{kTrialPatienceNs};
// All copies that are under way at once take so long, and what hangs is not waited for.
constexpr std::chrono::milliseconds kTrialAlone{10};
constexpr std::chrono::nanoseconds kResidentPatience{kResidentPatienceNs};

}  // namespace

void Mover::PriceNew(Work* work) {
  work->soon = reuse_.Launch(work->signature);
  const ServedArguments arguments = Price(work);
  for (size_t i = 0; i < work->chunks.size(); ++i) {
    const Use& use = work->uses[i];
    if (use.possible) continue;
    const ChunkIndex index = work->chunks[i];
    const bool needs = !use.in_place && !arguments.Serves(use.slot);
    reuse_.Touch(index, memory_.chunks()[index].size(), needs);
  }
}

ServedArguments Mover::Price(Work* work) {
  ServedArguments arguments;
  for (size_t i = 0; i < work->chunks.size(); ++i) {
    const Use& use = work->uses[i];
    const Chunk& c = memory_.chunks()[work->chunks[i]];
    if (!use.in_place) arguments.Add(use.slot, c.size(), c.on_device);
  }
  arguments.Judge(work->kernel, &history_);
  const auto offer = [&](PlaceMerit::Take take)
                         VS_NO_THREAD_SAFETY_ANALYSIS { OfferVictims(take); };
  PlaceMerit merit(heat_, memory_.device_pool().available(), offer);
  for (size_t i = 0; i < work->chunks.size(); ++i) {
    Use& use = work->uses[i];
    if (use.in_place || !arguments.Serves(use.slot) || work->soon.contains(work->chunks[i]))
      continue;
    // What is on the device as yet may leave before the launch runs: it is not to come back for it.
    const Chunk& c = memory_.chunks()[work->chunks[i]];
    use.in_place = c.on_device || !Movable(c) || !merit.Worth(work->chunks[i], c.size());
  }
  return arguments;
}

void Mover::TeachKernel(uint64_t kernel, double passes, uint64_t resident_ns) {
  MutexLock lock(memory_.mu);
  history_.Teach(kernel, passes, resident_ns);
}

void Mover::PriceQueue() {
  priced_at_ = history_.changes();
  for (Work* work : queue_) {
    if (work->kernel == 0 || work->run_in_place) continue;
    Price(work);
    Partition(work);
  }
  look_again_ = true;
}

void Mover::TryInPlace(Work* work) {
  work->tried = true;
  // One argument, one chunk: what that adds is the trial's doing.
  size_t chosen = work->wanted;
  Bytes remote;
  for (size_t i = 0; i < work->wanted; ++i) {
    const Chunk& c = memory_.chunks()[work->chunks[i]];
    if (c.on_device || c.state == ChunkState::kMoving || !Movable(c)) continue;
    if (work->soon.contains(work->chunks[i])) continue;
    if (chosen != work->wanted && work->uses[i].slot != work->uses[chosen].slot) return;
    chosen = i;
    remote += c.size();
  }
  if (chosen == work->wanted) return;
  Use& use = work->uses[chosen];
  if (use.slot == LaunchSample::kSeveral ||
      history_.For(work->kernel, use.slot, remote) != KernelHistory::Verdict::kTry) {
    return;
  }
  use.in_place = true;
  trial_ = work->chunks[chosen];
  trial_for_ = work->id;
  trial_waits_.reset();
  Partition(work);
  ++stats_.trials;
  look_again_ = true;
}

bool Mover::TrialWaitsForCopies() {
  if (moves_under_way_.load(std::memory_order_relaxed) == 0) return false;
  const auto now = Clock::now();
  if (!trial_waits_.has_value()) trial_waits_ = now;
  return now - *trial_waits_ < kTrialAlone;
}

void Mover::OfferVictims(PlaceMerit::Take take) {
  memory_.policy().OfferVictims([&](ChunkIndex victim) VS_NO_THREAD_SAFETY_ANALYSIS {
    const Chunk& v = memory_.chunks()[victim];
    return Movable(v) && v.on_device && take(victim, v.size());
  });
}

void Mover::NoteRelease(Work* work) {
  LaunchSample& sample = work->sample;
  sample.kernel = work->kernel;
  bool first = true;
  for (size_t i = 0; i < work->chunks.size(); ++i) {
    const Use& use = work->uses[i];
    if (use.possible) continue;
    const Chunk& c = memory_.chunks()[work->chunks[i]];
    heat_.Use(work->chunks[i], c.size());
    // What its place saves, each time it is used.
    if (const auto passes = history_.Passes(work->kernel, use.slot, c.size())) {
      const double saved = *passes * options_.prices.ServeNanoseconds(c.size());
      memory_.policy().OnPrice(work->chunks[i], static_cast<uint32_t>(std::min(saved, 4e9)),
                               c.size());
    }
    sample.touched += c.size();
    if (c.on_device) continue;
    sample.remote += c.size();
    sample.slot = first || sample.slot == use.slot ? use.slot : LaunchSample::kSeveral;
    first = false;
  }
  stats_.bytes_in_place += sample.remote;
  const bool trial = OnTrial(*work) && sample.remote.value != 0;
  work->timed = trial || (sample.remote.value == 0 && !history_.KnowsResident(work->kernel));
  if (!work->timed) return;
  ++timed_in_flight_;
  timed_until_ =
      std::max(timed_until_, work->released_at + (trial ? kTrialPatience : kResidentPatience));
}

bool Mover::TimedRuns() { return timed_in_flight_ != 0 && Clock::now() < timed_until_; }

void Mover::NoteFinish(const Work& work, Clock::time_point now) {
  if (work.timed) --timed_in_flight_;
  const auto began = std::max(work.released_at, work.stream->last_finish);
  const auto took = now - began;
  const auto gap = now - last_poll_;
  if (took <= Clock::duration::zero()) return;
  // What ends soon after something was let go by the deadline may have waited for just that; what
  // goes on for long after it is long by itself.
  if (patience_.Disturbed(InstantOf(now))) return;
  if (gap > kFineEnough && gap * kResolution > took) return;
  LaunchSample sample = work.sample;
  sample.nanoseconds = static_cast<uint64_t>(took.count());
  history_.Record(sample);
}

uint64_t Mover::SignatureOf(const Work& work) {
  uint64_t signature = 0;
  for (size_t i = 0; i < work.chunks.size(); ++i) {
    if (!work.uses[i].possible) signature = absl::HashOf(signature, work.chunks[i].value);
  }
  return signature == 0 ? 0 : absl::HashOf(signature, work.kernel);
}

void Mover::NoteSequence(const Work& work) {
  // A copy between two launches moves nothing and is no part of the sequence.
  if (work.signature == 0 || (work.kernel == 0 && work.wanted == 0)) return;
  const auto wanted = absl::MakeConstSpan(work.chunks).first(work.wanted);
  forecast_.Saw(work.signature);
  const auto known = sets_.find(work.signature);
  if (known != sets_.end()) {
    if (wanted == known->second.chunks) return;
    set_chunks_ -= known->second.chunks.size();
    known->second.chunks.clear();
  }
  if (set_chunks_ + wanted.size() > kMostSetChunks ||
      (known == sets_.end() && sets_.size() == kMostSets)) {
    sets_.clear();
    set_chunks_ = 0;
    if (wanted.size() > kMostSetChunks) return;
  }
  set_chunks_ += wanted.size();
  ExpectedSet& set = sets_[work.signature];
  set.kernel = work.kernel;
  set.chunks.assign(wanted.begin(), wanted.end());
}

void Mover::AddForecast(std::vector<QueuedWork>* works) {
  if (!options_.traced || works->size() >= kExpectedWorks) return;
  uint64_t next[kExpectedWorks];
  const size_t count = forecast_.Next(absl::MakeSpan(next).first(kExpectedWorks - works->size()));
  for (size_t i = 0; i < count; ++i) {
    const auto set = sets_.find(next[i]);
    if (set == sets_.end()) return;
    // Chunks that were freed since are of no size and never move; those of others cost time only.
    works->push_back(
        {.chunks = set->second.chunks, .duration = history_.Expected(set->second.kernel)});
  }
}

void Mover::AddIdleFetches(std::vector<ChunkIndex>* fetch) {
  const auto now = Clock::now();
  if (!may_fetch_idly_ || now < no_idle_fetch_before_ || barriers_in_flight_ != 0 ||
      !moves_.empty())
    return;
  no_idle_fetch_before_ = now + kIdleFetchPeriod;
  may_fetch_idly_ = false;
  Bytes room = memory_.device_pool().available();
  if (room < ChunkBytes(kMinChunkLog2)) return;
  std::vector<std::pair<double, ChunkIndex>> warm;
  for (uint32_t i = 1; i < memory_.chunks().end(); ++i) {
    const ChunkIndex index(i);
    const Chunk& c = memory_.chunks()[index];
    if (c.state != ChunkState::kHost || c.in_flight != 0 || !Movable(c) || ServedInPlace(c))
      continue;
    const double heat = heat_.Of(index);
    if (heat >= kWarm) warm.emplace_back(heat, index);
  }
  std::sort(warm.begin(), warm.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second.value < b.second.value;
  });
  for (const auto& [heat, index] : warm) {
    const Bytes size = memory_.chunks()[index].size();
    if (fetch->size() == kReturnedAtOnce) break;
    if (size > room) continue;
    room -= size;
    fetch->push_back(index);
  }
}

}  // namespace vramspan
