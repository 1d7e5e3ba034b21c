// What the scheduler is asked, and what begins.
#include "tests/scheduler/simulation/mover.h"

#include <algorithm>
#include <utility>

namespace vramspan::simulation {
namespace {

using std::chrono::microseconds;

// Actions at one time; far more than can be sensible.
constexpr uint32_t kMostStill = 20'000;
const char* const kNames[] = {"nothing", "release", "evict",  "fetch",  "remap",
                              "mend",    "unmap",   "giveup", "detach", "host"};

}  // namespace

Mover::Mover(Common* common, ModelMemory* memory, Streams* streams, EvictionPolicy* policy)
    : common_(*common), memory_(*memory), streams_(*streams), policy_(*policy) {}

Mover::Copy& Mover::CopyOf(const ChunkMove* move) {
  if (copies_.size() <= move->place) copies_.resize(move->place + 1);
  return copies_[move->place];
}

void Mover::Sleep(const Moment& at) {
  const Instant next = common_.heap.next().at;
  const Instant due = common_.scheduler->Due(at, next);
  // Whatever happens before, it is asked again.
  ++due_generation_;
  due_ = due < next ? due : Instant::max();
  if (due < next) {
    common_.heap.Add(std::max(due, common_.now), Event::Kind::kDue, 0, due_generation_);
  }
}

void Mover::Act() {
  Scheduler& scheduler = *common_.scheduler;
  const bool quiet =
      std::exchange(common_.quiet, false) && due_ == Instant::max() && common_.options.checks_due;
  bool first = true;
  while (!calling_ && common_.verdict.ok()) {
    TellLanded();
    streams_.Report();
    if (memory_.any_dying()) memory_.Reclaim(&policy_);
    const Moment at = memory_.At();
    const Action action = scheduler.Next(at);
    if (action.kind == Action::Kind::kNothing) {
      Sleep(at);
      break;
    }
    if (quiet && std::exchange(first, false)) {
      common_.verdict.Fail("there was something to do (%s), and nothing had said when",
                           kNames[static_cast<size_t>(action.kind)]);
    }
    ++common_.events;
    ++acted_[static_cast<size_t>(action.kind)];
    still_ = still_since_ == common_.now ? still_ + 1 : 0;
    still_since_ = common_.now;
    if (still_ > kMostStill) common_.verdict.Fail("time stands still");
    common_.Log(kNames[static_cast<size_t>(action.kind)], action.work != nullptr ? action.work->id
                                                          : action.move != nullptr
                                                              ? action.move->chunk.value
                                                              : action.chunk.value);
    if (action.kind == Action::Kind::kFetch) {
      BeginFetch(action, at.available);
    } else {
      Perform(action);
    }
  }
  if (common_.options.sabotage != Sabotage::kNone) Lie();
}

void Mover::Perform(const Action& action) {
  switch (action.kind) {
    case Action::Kind::kRelease:
      return Release(static_cast<SimWork*>(action.work));
    case Action::Kind::kEvict:
      return BeginEvict(action);
    case Action::Kind::kRemap:
      return BeginRemap(action);
    case Action::Kind::kMend:
    case Action::Kind::kUnmap:
      memory_[action.move->chunk].changing = true;
      return BeginCall(action, microseconds(200));
    case Action::Kind::kGiveUp:
      return GiveUp(action.move);
    case Action::Kind::kDetach:
      return Detach(action.move);
    case Action::Kind::kMapOnHost:
      return BeginMapping(action);
    default:
      return;
  }
}

void Mover::BeginCall(const Action& action, Duration at_most) {
  calling_ = true;
  call_ = action;
  Duration takes = common_.random.Between(Duration(100), at_most);
  if (common_.Strikes(Fault::kSlowCall) && common_.random.Chance(30)) {
    takes = std::chrono::seconds(1);
    common_.slow += takes;
  }
  common_.heap.Add(common_.now + takes, Event::Kind::kCallEnd, 0);
}

void Mover::LetGo(SimWork* work, bool was_held) {
  if (work->submission <= last_released_) {
    common_.verdict.Fail("work %llu, submission %llu, is let go after submission %llu",
                         static_cast<unsigned long long>(work->id),
                         static_cast<unsigned long long>(work->submission),
                         static_cast<unsigned long long>(last_released_));
  }
  last_released_ = work->submission;
  common_.wakes = true;
  if (was_held) memory_.Held(*work, -1);
  if (work->kind == Work::Kind::kPin) return;
  memory_.Released(*work, 1);
  streams_.NoteReleased(*work, 1);
  if (work->kind == Work::Kind::kScope && !common_.dead) memory_.CheckFound(*work, "released");
  if ((work->all_mapped || work->barrier()) && !common_.dead) {
    memory_.CheckAllMapped(work->barrier());
  }
  streams_.Released(work);
}

void Mover::Release(SimWork* work) {
  if (common_.Lies(Sabotage::kForgetReleased)) {
    work->released = true;
  } else {
    common_.scheduler->work().Released(work, memory_.At());
  }
  LetGo(work, /*was_held=*/true);
  if (work->kind != Work::Kind::kPin) return;
  bool all = true;
  for (const ChunkUse& use : work->uses) all = all && memory_.chunk(use.chunk).on_device;
  for (const ChunkUse& use : work->uses) {
    if (all) Pin(use.chunk);
  }
  if (!all) work->all.clear();
}

void Mover::Pin(ChunkIndex c) {
  if (memory_[c].pins++ != 0) return;
  Chunk& real = memory_.chunk(c);
  if (real.state == ChunkState::kDeviceTwin || real.state == ChunkState::kDeviceStale) {
    real.Transition(ChunkState::kDevice);
    memory_.GiveHost(c);
  }
  real.Transition(ChunkState::kPinned);
  real.contents = Contents::kSome;  // As the runtime does (PinHere).
  memory_.table().NoteChange(c);
}

void Mover::Unpin(ChunkIndex c) {
  if (--memory_[c].pins != 0) return;
  memory_.Check(c);
  // Whoever else holds its memory has filled it unseen.
  memory_.Write(c, ++common_.submissions);
  memory_.chunk(c).Transition(ChunkState::kDevice);
  memory_.Check(c);
  memory_.table().NoteChange(c);
}

void Mover::CheckMayMove(ChunkIndex c, const char* what) {
  const ModelChunk& m = memory_[c];
  if (!m.live || m.in_flight != 0 || m.detached != 0) {
    common_.verdict.Fail("%s of chunk %u, which is in use", what, c.value);
  }
  if ((streams_.unknown_runs() || foreign != 0) && !common_.dead) {
    common_.verdict.Fail("%s of chunk %u beside work that may touch anything", what, c.value);
  }
}

void Mover::BeginEvict(const Action& action) {
  ChunkMove* const move = action.move;
  if (common_.Lies(Sabotage::kMoveBesideBarrier)) ++foreign;
  CheckMayMove(move->chunk, "an eviction");
  memory_.Check(move->chunk);
  ModelChunk& m = memory_[move->chunk];
  Copy& copy = CopyOf(move);
  copy = {.move = move, .chunk = move->chunk, .generation = copy.generation + 1};
  if (!m.has_host) {
    memory_.TakeHost(move->chunk);
    copy.took_host = true;
  }
  fails_ = copy.took_host && common_.Strikes(Fault::kHostSlot);
  BeginCall(action, microseconds(copy.took_host ? 500 : 1));
}

void Mover::BeginFetch(const Action& action, Bytes available) {
  ChunkMove* const move = action.move;
  const ChunkIndex c = move->chunk;
  CheckMayMove(c, "a fetch");
  memory_.Check(c);
  if (move->size > available) {
    common_.verdict.Fail("chunk %u is to come, and there is no room for it", c.value);
  }
  Copy& copy = CopyOf(move);
  copy = {.move = move, .chunk = c, .generation = copy.generation + 1, .in = true};
  if (common_.Strikes(Fault::kDeviceSlot) || !memory_.TakeDevice(c)) {
    common_.scheduler->Refused(move, /*failed=*/false, common_.now);
    return;
  }
  memory_.chunk(c).device_slot = 0;
  memory_.table().NoteChange(c);
  fails_ = common_.Strikes(move->ahead ? Fault::kMapAhead : Fault::kDeviceSlot);
  memory_[c].changing = move->ahead;
  BeginCall(action, microseconds(move->ahead ? 100 : 5));
}

void Mover::BeginRemap(const Action& action) {
  ChunkMove* const move = action.move;
  const ChunkIndex c = move->chunk;
  const bool ahead = move->ahead;
  CheckMayMove(c, "a remap");
  ModelChunk& m = memory_[c];
  if (!ahead && (m.in_submission != 0 || unknown_in_submission != 0 || queries != 0)) {
    common_.verdict.Fail("a remap of chunk %u, which a thread hands to the driver", c.value);
  }
  how_ = common_.scheduler->BeginRemap(move, common_.now);
  if (how_ == Remapping::kUnmap &&
      (m.mapped_only != 0 || (streams_.needs_all_mapped() && !common_.dead))) {
    common_.verdict.Fail("chunk %u is to be unmapped, and must be mapped", c.value);
  }
  if (how_ == Remapping::kNone) return EndRemap(move);
  m.changing = true;
  BeginCall(action, microseconds(how_ == Remapping::kSwap ? 300 : 100));
}

void Mover::BeginMapping(const Action& action) {
  ModelChunk& m = memory_[action.chunk];
  if (m.mapped != Mapped::kNothing || m.changing) {
    common_.verdict.Fail("chunk %u is to be mapped on the host, and is mapped", action.chunk.value);
  }
  m.changing = true;
  BeginCall(action, microseconds(200));
}

}  // namespace vramspan::simulation
