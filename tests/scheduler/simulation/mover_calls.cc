// What comes of what the mover began.
#include <algorithm>
#include <utility>

#include "tests/scheduler/simulation/mover.h"

namespace vramspan::simulation {
namespace {

constexpr uint64_t kLeastRate = 20, kMostRate = 50;  // Of copies, in bytes a nanosecond.

}  // namespace

void Mover::EndCall() {
  ++common_.events;
  common_.wakes = true;
  calling_ = false;
  const Action call = std::exchange(call_, {});
  switch (call.kind) {
    case Action::Kind::kEvict:
      return EndEvict(call.move);
    case Action::Kind::kFetch:
      return EndFetch(call.move);
    case Action::Kind::kRemap:
      return EndRemap(call.move);
    case Action::Kind::kMend:
      return EndMend(call.move);
    case Action::Kind::kUnmap:
      return EndUnmap(call.move);
    default:
      return EndMapping(call.chunk);
  }
}

void Mover::EndEvict(ChunkMove* move) {
  if (fails_) {
    common_.scheduler->Refused(move, /*failed=*/true, common_.now);
    memory_.GiveHost(CopyOf(move).chunk);
    return;
  }
  StartCopy(move);
}

void Mover::EndFetch(ChunkMove* move) {
  const ChunkIndex c = move->chunk;
  ModelChunk& m = memory_[c];
  m.changing = false;
  if (fails_) {
    common_.scheduler->Refused(move, /*failed=*/true, common_.now);
    memory_.GiveDevice(c);
    return;
  }
  if (move->ahead) m.mapped = Mapped::kDevice;
  StartCopy(move);
}

void Mover::StartCopy(ChunkMove* move) {
  Copy& copy = CopyOf(move);
  ModelChunk& m = memory_[copy.chunk];
  common_.scheduler->moves().Started(move);
  if (move->clean) {
    common_.scheduler->moves().Copied(move, {});
    return;
  }
  copy.version = move->in ? m.host : m.device;
  copy.equal = move->expected == std::optional(Fingerprint{m.device, copy.chunk.value});
  if (!move->in && m.has_host && common_.Lies(Sabotage::kSayEqual)) copy.equal = true;
  const uint64_t rate = common_.random.Between(kLeastRate, kMostRate);
  Duration takes(static_cast<int64_t>(move->size.value / rate));
  if (copy.equal) takes = std::chrono::microseconds(5);
  common_.heap.Add(common_.now + takes, Event::Kind::kCopyEnd, move->place, copy.generation);
}

void Mover::CopyEnded(const Event& event) {
  Copy& copy = copies_[event.which];
  if (copy.generation != event.generation) return;
  // Behind the program's parked streams.
  if (parked_ != 0 && !common_.dead) return stuck_.push_back(event);
  ++common_.events;
  ModelChunk& m = memory_[copy.chunk];
  copy.ok = !common_.Strikes(Fault::kCopy) && !(common_.dead && common_.options.shares_context);
  copy.error = !copy.ok;
  uint32_t& to = copy.in ? m.device : m.host;
  const bool nothing = common_.Lies(copy.in ? Sabotage::kCopyNothingIn : Sabotage::kCopyNothing);
  if (!copy.equal && !nothing) to = copy.ok ? copy.version : 0;
  copy.landed = true;
  landed_.push_back(event.which);
}

void Mover::Unpark() {
  if (--parked_ == 0) EndStuck();
}

void Mover::EndStuck() {
  for (const Event& event : std::exchange(stuck_, {})) {
    common_.heap.Add(common_.now + std::chrono::microseconds(50), Event::Kind::kCopyEnd,
                     event.which, event.generation);
  }
}

void Mover::TellLanded() {
  for (const uint32_t place : std::exchange(landed_, {})) {
    Copy& copy = copies_[place];
    ModelChunk& m = memory_[copy.chunk];
    if (copy.detached) {
      --m.detached;
      --detached_;
      common_.scheduler->moves().DetachedEnded(copy.move);
      copy.in ? memory_.GiveDevice(copy.chunk) : memory_.GiveHost(copy.chunk);
      continue;
    }
    if (common_.Lies(Sabotage::kForgetCopied)) continue;
    std::optional<Fingerprint> print;
    if (copy.move->print && copy.ok) print = Fingerprint{copy.version, copy.chunk.value};
    common_.scheduler->moves().Copied(copy.move, {copy.ok, copy.ok && copy.equal, print});
  }
}

void Mover::EndRemap(ChunkMove* move) {
  if (how_ == Remapping::kNone) return Settle(move, RemapOutcome::kDone);
  if (common_.Strikes(Fault::kRemap)) return Settle(move, RemapOutcome::kAsBefore);
  const bool lost = how_ == Remapping::kSwap && common_.Strikes(Fault::kLost);
  Settle(move, lost ? RemapOutcome::kLost : RemapOutcome::kDone);
}

void Mover::EndMend(ChunkMove* move) {
  how_ = Remapping::kSwap;
  if (common_.Strikes(Fault::kLost)) return Settle(move, RemapOutcome::kLost);
  Settle(move, common_.random.Chance(700) ? RemapOutcome::kDone : RemapOutcome::kAsBefore);
}

void Mover::Settle(ChunkMove* move, RemapOutcome outcome) {
  const ChunkIndex c = move->chunk;
  const bool in = move->in;
  ModelChunk& m = memory_[c];
  m.changing = false;
  const bool done = outcome == RemapOutcome::kDone;
  const Mapped hidden = how_ == Remapping::kSwap ? Mapped::kHost : Mapped::kNothing;
  if (outcome == RemapOutcome::kLost) {
    m.mapped = Mapped::kNothing;
    common_.slow += std::chrono::milliseconds(10);  // It is not mended at once.
  } else {
    m.mapped = in == done ? Mapped::kDevice : hidden;
  }
  CopyOf(move).error |= !done;
  if (common_.Lies(Sabotage::kForgetRemapped)) return;
  common_.scheduler->Remapped(move, outcome, memory_.At());
  if (!done) return;
  if (!in) {
    memory_.GiveDevice(c);
  } else if (memory_.chunk(c).state == ChunkState::kDevice) {
    memory_.GiveHost(c);
  }
  memory_.Check(c);
}

void Mover::EndUnmap(ChunkMove* move) {
  const bool ok = !common_.Strikes(Fault::kUnmapAhead);
  ModelChunk& m = memory_[move->chunk];
  m.changing = false;
  if (ok) m.mapped = Mapped::kNothing;
  if (!ok) common_.slow += std::chrono::milliseconds(10);
  common_.scheduler->Unmapped(move, ok, common_.now);
}

void Mover::EndMapping(ChunkIndex c) {
  const bool ok = !common_.Strikes(Fault::kMapOnHost);
  ModelChunk& m = memory_[c];
  m.changing = false;
  if (ok) m.mapped = Mapped::kHost;
  if (common_.Lies(Sabotage::kForgetMapping)) return;
  common_.scheduler->MappedOnHost(c, ok, common_.now);
  memory_.Check(c);
}

void Mover::GiveUp(ChunkMove* move) {
  const Copy copy = CopyOf(move);
  common_.wakes = true;
  common_.scheduler->GiveUp(move, copy.error, common_.now);
  if (copy.in) memory_.GiveDevice(copy.chunk);
  if (copy.took_host) memory_.GiveHost(copy.chunk);
  memory_.Check(copy.chunk);
}

void Mover::Detach(ChunkMove* move) {
  Copy& copy = CopyOf(move);
  common_.wakes = true;
  copy.detached = true;
  ++detached_;
  ++memory_[copy.chunk].detached;
  common_.scheduler->moves().Detach(move);
}

}  // namespace vramspan::simulation
