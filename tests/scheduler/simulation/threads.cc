#include "tests/scheduler/simulation/threads.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <bit>

#include "runtime/scheduler/untouched_chunks.h"

namespace vramspan::simulation {
namespace {

using std::chrono::microseconds;
// Longer than anything that a thread may have to wait for.
constexpr Duration kTooLong = std::chrono::seconds(60);

}  // namespace

Threads::Threads(Common* common, ModelMemory* memory, Streams* streams, Mover* mover,
                 Program* program)
    : common_(*common),
      memory_(*memory),
      streams_(*streams),
      mover_(*mover),
      program_(*program),
      threads_(common->options.threads) {
  for (uint32_t t = 0; t < threads_.size(); ++t) After(t, common_.options.most_think);
}

void Threads::SubmitCounted() {
  size_t works = 0;
  for (uint32_t t = 0; t < threads_.size(); ++t) {
    SimWork* const work = streams_.New();
    if (!program_.Compose(Program::Step::kLaunch, t, work)) {
      streams_.Recycle(work);
      continue;
    }
    ++works;
    work->counted = work->submitted = true;
    work->kernel = 0;
    work->duration *= 20;
    work->stream = t;
    work->submission = ++common_.submissions;
    common_.scheduler->work().Counted(work);
    streams_.Push(work);
    mover_.LetGo(work, /*was_held=*/false);
    streams_.Enqueued(work);
  }
  common_.scheduler->Track(Tracking::kSinceTracking);
  streams_.Drains(works);
}

void Threads::Think(uint32_t t) {
  threads_[t].stage = Stage::kThinks;
  // Now and then it has much to do itself.
  const bool long_ = common_.random.Chance(3);
  After(t, long_ ? microseconds(300'000) : common_.options.most_think);
}

void Threads::WaitAs(uint32_t t, Stage stage) {
  threads_[t].stage = stage;
  threads_[t].since = common_.now;
  waiting_ |= 1u << t;
}

void Threads::Poll() {
  for (uint32_t left = waiting_; left != 0; left &= left - 1) {
    const auto t = static_cast<uint32_t>(std::countr_zero(left));
    if (TryGo(t)) continue;
    if (common_.now - threads_[t].since > kTooLong + common_.slow) {
      common_.verdict.Fail("thread %u waits for too long (stage %d)", t,
                           static_cast<int>(threads_[t].stage));
    }
  }
}

void Threads::GoesOn(const Event& event) {
  ++common_.events;
  const uint32_t t = event.which;
  Thread& thread = threads_[t];
  switch (thread.stage) {
    case Stage::kThinks:
      return Begin(t);
    case Stage::kDriver:
      if (MayReturn(t)) return Return(t);
      thread.returns = true;
      return WaitAs(t, Stage::kDriver);
    case Stage::kQuery:
      --mover_.queries;
      common_.scheduler->reachability().QueryEnded();
      common_.wakes = true;
      return Think(t);
    case Stage::kForeign: {
      for (int i = 0; i < 3; ++i) {
        if (const ChunkIndex c = program_.SomeChunk(); c && !common_.dead) {
          memory_.CheckMapped(c, "foreign work");
          memory_.Write(c, ++common_.submissions);
        }
      }
      --mover_.foreign;
      if (!common_.scheduler->work().ForeignWorkEnded()) common_.verdict.Fail("no foreign work");
      if (common_.Lies(Sabotage::kForgetForeign))
        common_.scheduler->work().ForeignWorkBegan(common_.now);
      return Think(t);
    }
    default:
      return;
  }
}

void Threads::Begin(uint32_t t) {
  Thread& thread = threads_[t];
  Unpin(&thread);
  if (stops_) {
    thread.stage = Stage::kDone;
    ++done_;
    return;
  }
  const Program::Step step = program_.NextStep();
  switch (step) {
    case Program::Step::kWait:
      thread.waits = thread.last;
      WaitAs(t, Stage::kWork);
      return void(TryGo(t));
    case Program::Step::kForeign:
      return BeginForeign(t);
    case Program::Step::kQuery:
      return BeginQuery(t);
    case Program::Step::kGiveUp:
      return GiveUp(t);
    case Program::Step::kFree:
      if (program_.Reallocate([this](ChunkIndex c) { return InHand(c); })) {
        common_.scheduler->LookAgain();
      }
      return Think(t);
    default:
      break;
  }
  SimWork* const work = streams_.New();
  work->by = t;
  work->submitter.thread = t + 1;
  const uint32_t own = common_.options.streams / common_.options.threads;
  work->stream = t + common_.options.threads * common_.random.Below(own);
  work->submitter.stream_key = &threads_[t] + work->stream;
  if (!program_.Compose(step, t, work)) {
    streams_.Recycle(work);
    return Think(t);
  }
  thread.work = work;
  const bool waits = work->kind != Work::Kind::kPin && !common_.options.shares_context;
  WaitAs(t, waits && work->kind != Work::Kind::kCaptured ? Stage::kRoom : Stage::kMappings);
  TryGo(t);
}

bool Threads::InHand(ChunkIndex c) const {
  return std::any_of(threads_.begin(), threads_.end(), [c](const Thread& thread) {
    return thread.work != nullptr &&
           std::any_of(thread.work->all.begin(), thread.work->all.end(),
                       [c](const ChunkUse& use) { return use.chunk == c; });
  });
}

void Threads::LeaveOutUntouched(SimWork* work) const {
  UntouchedChunks untouched;
  std::vector<Neighbours> neighbours;
  const size_t likely = work->uses.size();
  const auto chunk_of = [this](ChunkIndex c) -> const Chunk& { return memory_.chunk(c); };
  untouched.Find(work->all, chunk_of, &neighbours);
  const size_t may =
      untouched.LeaveOut(likely, work->possible.size(), neighbours, chunk_of, &work->all);
  work->Split(likely, may);
}

bool Threads::TryGo(uint32_t t) {
  Thread& thread = threads_[t];
  Scheduler& scheduler = *common_.scheduler;
  const auto goes = [&] { waiting_ &= ~(1u << t); };
  switch (thread.stage) {
    case Stage::kRoom:
      if (common_.options.asks_for_room && scheduler.work().Full(thread.work->kernels)) {
        return false;
      }
      if (scheduler.queue().size() >= common_.options.most_held) return false;
      LeaveOutUntouched(thread.work);
      thread.stage = Stage::kMappings;
      [[fallthrough]];
    case Stage::kMappings: {
      const bool looks = thread.work->kind == Work::Kind::kCaptured ||
                         (thread.work->kind != Work::Kind::kPin && !common_.options.shares_context);
      if (looks && !common_.dead && scheduler.reachability().MustWait(*thread.work)) return false;
      goes();
      Submit(t);
      return true;
    }
    case Stage::kReleased:
      if (!thread.work->released) return false;
      mover_.Unpark();
      goes();
      EnterDriver(t);
      return true;
    case Stage::kDriver:
      if (!MayReturn(t)) return false;
      goes();
      Return(t);
      return true;
    case Stage::kWork:
      if (!Streams::HasEnded(thread.waits)) return false;
      goes();
      Think(t);
      return true;
    case Stage::kPinned:
      if (!thread.work->released) return false;
      goes();
      for (const ChunkUse& use : thread.work->all) thread.pinned.push_back(use.chunk);
      streams_.Recycle(std::exchange(thread.work, nullptr));
      Think(t);
      return true;
    case Stage::kBeginQuery:
      if (scheduler.reachability().QueryMustWait() && !common_.dead) return false;
      goes();
      ++mover_.queries;
      thread.stage = Stage::kQuery;
      if (const ChunkIndex c = program_.SomeChunk(); c && !common_.dead) {
        memory_.CheckMapped(c, "an address query");
      }
      After(t, microseconds(50));
      return true;
    case Stage::kBeginForeign: {
      const bool any = scheduler.residency().unmapped() != 0;
      scheduler.unmapped().MapAll(any);
      if ((any || scheduler.moving()) && !common_.dead) return false;
      goes();
      ++mover_.foreign;
      thread.stage = Stage::kForeign;
      After(t, microseconds(2000));
      return true;
    }
    default:
      return false;
  }
}

void Threads::GiveUp(uint32_t t) {
  // Whoever else holds what is pinned may fill it unseen.
  const std::vector<ChunkIndex>& pinned = threads_[t].pinned;
  const bool of_pinned = !pinned.empty() && common_.random.Chance(500);
  if (const ChunkIndex c = of_pinned ? pinned.front() : program_.SomeChunk()) {
    common_.Log("givenup", c.value);
    memory_.GiveUp(c);
    Chunk& real = memory_.chunk(c);
    // In a pool nobody has its address.
    const bool unowned = real.state != ChunkState::kPinned && common_.random.Chance(500);
    // Who gives it up without that has been given it.
    if (memory_[c].unowned && !unowned) memory_[c].owned = ++common_.submissions;
    memory_[c].unowned = unowned;
    common_.scheduler->work().GivenUp(c, unowned);
    if (real.queued != 0 && real.state != ChunkState::kPinned &&
        common_.Lies(Sabotage::kEmptyTooEarly)) {
      real.contents = Contents::kNone;
      memory_.table().NoteChange(c);
    }
  }
  // Who is about to submit work has left out what nobody had, and does not know of it.
  const bool about = absl::c_any_of(
      threads_, [](const Thread& thread) { return thread.stage == Stage::kMappings; });
  if (const ChunkIndex c = program_.SomeChunk(); c && memory_[c].unowned && !about) {
    memory_[c].unowned = false;
    memory_[c].owned = ++common_.submissions;
    common_.Log("owned", c.value);
    common_.scheduler->work().Owned(c);
  }
  Think(t);
}

void Threads::BeginForeign(uint32_t t) {
  common_.scheduler->work().ForeignWorkBegan(common_.now);
  WaitAs(t, Stage::kBeginForeign);
  TryGo(t);
}

void Threads::BeginQuery(uint32_t t) {
  Scheduler& scheduler = *common_.scheduler;
  scheduler.reachability().QueryBegan();
  if (scheduler.residency().unmapped() != 0) scheduler.unmapped().KeepMapped(common_.now);
  WaitAs(t, Stage::kBeginQuery);
  TryGo(t);
}

}  // namespace vramspan::simulation
