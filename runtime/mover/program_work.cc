#include "runtime/mover/program_work.h"

#include <absl/cleanup/cleanup.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "runtime/mover/now.h"

namespace vramspan {
namespace {

constexpr size_t kArrivalScan = 256;
// Beyond this many finished works nobody has looked at, the mover is asked to look.
constexpr size_t kUnpolled = 64;
// One mapping takes some tens of microseconds, but more than a second while another process gives
// tens of gigabytes of host memory back. This long only if the driver never returns.
constexpr std::chrono::seconds kDriverPatience{300};
constexpr std::chrono::milliseconds kMappedLook{5};

// A thread that waits to be let in: each is told by itself.
struct Waiting : Admission::Waiter {
  CondVar told;
};

}  // namespace

// The lock that callers hold is the memory's; the analysis cannot see that it is the same.
#define VS_UNDER_LOCK VS_NO_THREAD_SAFETY_ANALYSIS

ProgramWork::ProgramWork(Memory* memory, Scheduler* scheduler, MoverAccounts* accounts,
                         Signals* signals, ContextWatch* watch, ProgramStreams* streams,
                         WorkFingerprints* prints, const Options& options)
    : memory_(*memory),
      scheduler_(*scheduler),
      accounts_(*accounts),
      signals_(*signals),
      watch_(*watch),
      streams_(*streams),
      prints_(*prints),
      options_(options),
      pool_(memory) {}

Moment ProgramWork::At() {
  const DevicePool& pool = memory_.device_pool();
  return {.now = InstantOf(Clock::now()),
          .budget = pool.budget(),
          .used = pool.used(),
          .available = pool.available(),
          .draining = options_.traced && streams_.draining(),
          .follows_writers = prints_.follow_writers()};
}

bool ProgramWork::CountIn(StreamWork* work) {
  // The mover may be inside the driver, and what has finished meanwhile goes unseen.
  if (pool_.full() && PollMarks()) signals_.Wake();
  return pool_.CountIn(work);
}

void ProgramWork::Collect(absl::Span<const WorkRange> ranges, KeptUses* kept,
                          StreamWork* work) VS_UNDER_LOCK {
  kept != nullptr ? pool_.Collect(ranges, kept, work) : pool_.Collect(ranges, work);
  // Who names what is nobody's knows better.
  for (const ChunkUse& use : work->uses) {
    if (memory_.chunks()[use.chunk].freed()) scheduler_.work().Owned(use.chunk);
  }
  if (options_.traced && work->kind == Work::Kind::kScope) {
    const uint64_t hash = kept != nullptr ? kept->hash : Sequence::HashOf(work->uses);
    work->signature = Sequence::Signature(hash, work->kernel);
  }
  scheduler_.Want(work);
}

void ProgramWork::WaitForRoom(absl::Span<const WorkRange> ranges, Access access) {
  const bool kernel = access != Access::kUnknown && KernelsOnly(ranges);
  if (admission_.empty() && !scheduler_.work().Full(kernel, let_in_)) [[likely]]
    return;
  Waiting me;
  me.kernel = kernel;
  if (access == Access::kUnknown) me.wanted.AddAll();
  for (const WorkRange& range : ranges) {
    if (!range.use.possible) me.wanted.Add(range.ptr, range.size);
  }
  admission_.Add(&me);
  watch_.WaitUntil(me.told, [&] {
    MadeRoom();
    return me.let_in;
  });
  // Work that is not held after all makes no room for the next.
  MadeRoom();
  --let_in_;
}

void ProgramWork::HoldNew(std::optional<Clock::time_point> until) {
  holds_new_.store(until.has_value(), std::memory_order_relaxed);
  if (until.has_value()) hold_until_ = *until;
  turn_.NotifyAll();
}

void ProgramWork::AwaitTurn() {
  ++awaiting_turn_;
  // In a dead context work fails, and nobody's turn comes of it.
  watch_.WaitUntil(turn_,
                   [this] { return !holds_new() || watch_.dead() || Clock::now() >= hold_until_; });
  --awaiting_turn_;
}

void ProgramWork::MadeRoom() {
  while (!admission_.empty() && !scheduler_.work().Full(true, let_in_)) {
    Admission::Waiter* const next = admission_.LetIn(scheduler_.work().Full(false, let_in_));
    if (next == nullptr) return;
    ++let_in_;
    static_cast<Waiting*>(next)->told.NotifyOne();
  }
}

void ProgramWork::Submit(StreamWork* work) {
  StreamState* const state = work->stream;
  ++begun_;
  work->recording = streams_.recording();
  accounts_.stats.works += state != nullptr;
  if (work->barrier()) memory_.unknown_work.fetch_add(1, std::memory_order_relaxed);
  // Having come this far also says that what the stream carried before tracking is done.
  work->needs_arrival = state != nullptr && state->unrecorded;
  const bool looked = scheduler_.planning().pending();
  if (scheduler_.work().Submit(work, At())) {
    GoesOn(work);
    // What is expected may count again, and the thread sleep without an end.
    const bool expects = !looked && scheduler_.planning().pending();
    if (expects || state->in_flight.size() > kUnpolled) signals_.Wake();
    return;
  }
  ++accounts_.stats.works_held;
  if (state == nullptr) return;
  work->hold = ++state->holds;
  state->held.push_back(work);
}

Bytes ProgramWork::InPlace(const StreamWork& work) VS_UNDER_LOCK {
  if (work.kernel != 0) return work.trial.sample.remote;
  Bytes bytes;
  if (work.kind != Work::Kind::kScope || work.remote == Bytes(0)) return bytes;
  for (const ChunkUse& use : work.uses) {
    const Chunk& c = memory_.chunks()[use.chunk];
    if (!c.on_device) bytes += use.how.part.In(c.size());
  }
  return bytes;
}

void ProgramWork::GoesOn(StreamWork* work) {
  accounts_.stats.bytes_in_place += InPlace(*work);
  if (work->tag != 0 && options_.listener != nullptr) {
    options_.listener->Released(work->tag, work->remote);
  }
  if (work->stream == nullptr) return;
  work->stream->in_flight.push_back(work);
  streams_.Busy(work->stream);
}

void ProgramWork::Cancel(StreamWork* work) {
  if (work->barrier()) memory_.unknown_work.fetch_sub(1, std::memory_order_relaxed);
  if (scheduler_.work().Cancelled(work)) MadeRoom();
  StreamState* const state = work->stream;
  std::erase(state->held, work);
  if (state->awaiting != 0) state->let_go.NotifyAll();
  std::erase(state->in_flight, work);
  --begun_;
  Recycle(work);
  signals_.Wake();
}

bool ProgramWork::PollStream(StreamState* state, Clock::time_point now) {
  bool any = false;
  while (!state->in_flight.empty()) {
    StreamWork* work = state->in_flight.front();
    if (!work->submitted) break;
    if (work->end.has_value() && !state->Reached(*work->end) && !watch_.dead()) break;
    state->in_flight.pop_front();
    prints_.Take(*work, watch_.dead());
    scheduler_.work().Finished(work, InstantOf(state->last_finish), /*at_once=*/false,
                               InstantOf(now));
    state->last_finish = now;
    Ended(work);
    any = true;
  }
  if (state->drained_at.has_value() && (watch_.dead() || state->Reached(*state->drained_at))) {
    streams_.Drained(state);
    any = true;
  }
  return any;
}

bool ProgramWork::PollMarks() {
  bool any = false;
  const auto now = Clock::now();
  for (StreamState* state : streams_.busy()) any |= PollStream(state, now);
  if (any) streams_.Sweep();
  scheduler_.work().Looked(InstantOf(now));
  return any;
}

void ProgramWork::Ended(StreamWork* work) {
  if (work->barrier()) memory_.unknown_work.fetch_sub(1, std::memory_order_relaxed);
  streams_.Settled(work->stream, work->recording);
  --begun_;
  Recycle(work);
}

bool ProgramWork::PollArrivals() {
  bool any = false;
  const WorkQueue& queue = scheduler_.queue();
  const size_t n = std::min(queue.size(), kArrivalScan);
  for (size_t i = 0; i < n; ++i) {
    auto* const work = static_cast<StreamWork*>(queue[i]);
    if (!work->arrival.has_value() || !work->stream->Reached(*work->arrival)) continue;
    work->arrival.reset();
    scheduler_.work().Arrived(work);
    streams_.Settled(work->stream, work->recording);
    any = true;
  }
  return any;
}

void ProgramWork::Release(StreamWork* work) {
  {
    // Whatever becomes of the accounts, its stream goes on.
    const auto go = absl::MakeCleanup([&] {
      if (work->stream == nullptr) return;
      work->stream->held.pop_front();
      Streams::Raise(work->stream, work->hold);
      if (work->stream->awaiting != 0) work->stream->let_go.NotifyAll();
      if (waits_in_threads()) signals_.Done();
    });
    prints_.Ask(*work);
    scheduler_.work().Released(work, At());
    GoesOn(work);
  }
  if (work->kind == Work::Kind::kPin) PinAll(work);
}

void ProgramWork::PinAll(StreamWork* work) VS_UNDER_LOCK {
  work->pinned = std::all_of(work->uses.begin(), work->uses.end(),
                             [&](const ChunkUse& use)
                                 VS_UNDER_LOCK { return memory_.chunks()[use.chunk].on_device; });
  for (const ChunkUse& use : work->uses) {
    if (work->pinned) PinHere(&memory_, use.chunk);
  }
  --begun_;
  signals_.Done();
}

void PinHere(Memory* memory, ChunkIndex chunk) VS_UNDER_LOCK {
  if (memory->pins()[chunk.value]++ != 0) return;
  memory->DropHostCopy(chunk);
  Chunk& c = memory->chunks()[chunk];
  c.Transition(ChunkState::kPinned);
  c.contents = Contents::kSome;  // Whoever else holds its memory may fill it unseen.
  memory->chunks().NoteChange(chunk);
}

Status ProgramWork::WaitReachable(const StreamWork& work) {
  const auto named = [&] {
    return !waits_in_threads() && scheduler_.reachability().MustWait(work);
  };
  if (WaitMapped(named)) return absl::OkStatus();
  const Status& error = accounts_.error;
  return absl::UnavailableError(
      absl::StrCat("memory of this work has lost its mapping and could not be mapped again",
                   error.ok() ? "" : ": ", error.message(),
                   "; synchronize, free what can be freed, and try again"));
}

bool ProgramWork::WaitMapped(absl::FunctionRef<bool()> unmapped) VS_UNDER_LOCK {
  const auto begin = Clock::now();
  const uint64_t failed = accounts_.stats.moves_failed;
  while (unmapped()) {
    if (watch_.dead()) return false;
    const bool refused = scheduler_.moves().First(ChunkMove::Stage::kLost) != nullptr ||
                         accounts_.stats.moves_failed != failed;
    if (Clock::now() - begin > (refused ? kRemapPatience : kDriverPatience)) return false;
    signals_.Wake();
    signals_.done().WaitFor(memory_.mu, kMappedLook);
  }
  return true;
}

}  // namespace vramspan
