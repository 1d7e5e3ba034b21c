// What comes of work, and of the scheduler's actions.
#include <algorithm>

#include "runtime/base/log.h"
#include "tools/replay/simulated_mover.h"

namespace vramspan::replay {

VirtualStreams::Now SimulatedMover::StreamsNow() const {
  VirtualStreams::Now now{.time = now_, .stalls = stalls_};
  // Declared work had them when it was recorded.
  if (tracking_ && setting_.overlap != ReplayOverlap::kDeclared) {
    const bool beside = calls_.copies_in();
    now.pass = static_cast<uint64_t>(1e3 * (beside ? prices_.pass_beside : prices_.pass));
    now.mark = static_cast<uint64_t>(1e3 * (beside ? prices_.mark_beside : prices_.mark));
  }
  return now;
}

void SimulatedMover::Submit(ActiveWork* a) {
  streams_.Push(a);
  if (!tracking_) {
    FindDuration(a);
    scheduler_.work().Counted(a);
    Released(a);
    return;
  }
  a->seen = true;
  if (setting_.overlap != ReplayOverlap::kDeclared) {
    a->signature = Sequence::Signature(chunks_.hash(a->set), a->kernel);
  }
  if (bound_) {
    bound_->Submitted();
    bound_->Want(a);
  } else if (run_.works[a->work].kind == WorkKind::kCopy) {
    // Nothing is fetched for a copy: it touches each byte once.
    a->ServeOnce();
    scheduler_.Want(a);
  }
  // Before it counts as a use of what it touches.
  if (scheduler_.queue().empty()) FindDuration(a);
  const bool released = scheduler_.work().Submit(a, At());
  prints_.Submitted(a);
  if (released) {
    Released(a);
  } else {
    streams_.Start(*a, StreamsNow());
  }
}

void SimulatedMover::FindDuration(ActiveWork* a) {
  a->duration = timing_.of(a->work).duration;
  a->launch = {.code = a->launch.code, .resident = a->duration};
  double remote_time = 0;
  for (const ChunkUse& use : a->uses) {
    const Chunk& c = memory_[use.chunk];
    if (c.on_device) {
      a->launch.fetches += c.unused;
      continue;
    }
    const ServedTime::Touched touched = served_.TouchedIn(a->set, use.chunk);
    remote_time += served_.Pass(a->work, use.chunk, touched);
    a->launch.in_place += touched.once;
    ++a->launch.served;
  }
  if (a->launch.served == 0) return;
  a->launch.passes = timing_.Passes(a->work);
  a->duration += static_cast<uint64_t>(a->launch.passes * remote_time);
  a->launch.fetches += a->launch.served;
}

void SimulatedMover::Released(ActiveWork* a) {
  a->released_at = InstantOf(now_);
  a->at_release = stalls_;
  result_.accesses += a->uses.size();
  result_.in_place_time += a->duration - a->launch.resident;
  result_.served_in_place += a->launch.served;
  result_.bytes_in_place += a->launch.in_place;
  a->ForEachFixed([this, a](const ChunkUse& use) {
    if (use.how.write) memory_.MayWrite(use.chunk, a->work);
  });
  if (bound_) bound_->Released(*a);
  if (a->seen) prints_.Released(a);
  streams_.Start(*a, StreamsNow());
}

void SimulatedMover::EndWork() {
  if (streams_.NextEnd() > now_) return;
  streams_.End(StreamsNow(), [this](ActiveWork* a) {
    rest_.Told();
    if (a->seen) {
      ended_.push_back(a);
      return;
    }
    scheduler_.work().CountedEnded(*a);
    Gone(a);
  });
}

void SimulatedMover::Gone(ActiveWork* a) {
  a->ForEach([this](const ChunkUse& use) {
    if (memory_[use.chunk].dying) Reclaim(use.chunk);
  });
  streams_.Recycle(a);
}

void SimulatedMover::LookAtEnded() {
  const Instant now = InstantOf(now_);
  for (ActiveWork* a : ended_) {
    prints_.Ended(*a);
    // The thread may have been at a call when it ended.
    scheduler_.work().Finished(a, streams_.last_seen(*a), /*at_once=*/now_ == a->end, now);
    streams_.last_seen(*a) = now;
    Gone(a);
  }
  ended_.clear();
  scheduler_.work().Looked(now);
}

bool SimulatedMover::Act() {
  if (calls_.calling()) return false;
  LookAtEnded();
  if (rest_.Holds(!scheduler_.queue().empty(), InstantOf(now_))) return false;
  const uint64_t plans = scheduler_.planning().plans();
  const Action action = scheduler_.Next(At());
  if (scheduler_.planning().plans() != plans) calls_.Owe(prices_.per_plan);
  switch (action.kind) {
    case Action::Kind::kNothing:
      if (!scheduler_.unmapped().wants_mapping()) rest_.Began(InstantOf(now_));
      return false;
    case Action::Kind::kRelease: {
      auto* const a = static_cast<ActiveWork*>(action.work);
      a->may_start = now_ + static_cast<uint64_t>(1e3 * prices_.hold_release);
      FindDuration(a);
      scheduler_.work().Released(a, At());
      Released(a);
      break;
    }
    case Action::Kind::kEvict:
      Evict(action.move);
      break;
    case Action::Kind::kFetch:
      Fetch(action);
      break;
    case Action::Kind::kRemap:
      Remap(action);
      break;
    case Action::Kind::kMapOnHost:
      calls_.BeginMapOnHost(action, now_, memory_[action.chunk].log2_size,
                            scheduler_.work().running());
      break;
    default:
      VS_CHECK(false);  // Nothing fails here.
  }
  return !calls_.calling();
}

void SimulatedMover::Evict(ChunkMove* move) {
  moves_.resize(std::max<size_t>(moves_.size(), move->place + 1));
  moves_[move->place] = move;
  scheduler_.moves().Started(move);
  // What was not written is as its fingerprint says, and what was is not.
  const bool equal = move->expected.has_value() && !memory_.facts(move->chunk).written;
  if (move->clean || equal) {
    scheduler_.moves().Copied(move, {.equal = equal});
  } else {
    calls_.StartOut(*move, now_, memory_.MakeHost(move->chunk));
  }
}

void SimulatedMover::Fetch(const Action& action) {
  ChunkMove* const move = action.move;
  moves_.resize(std::max<size_t>(moves_.size(), move->place + 1));
  moves_[move->place] = move;
  Chunk& c = memory_[move->chunk];
  c.device_slot = 0;
  const double slot = memory_.TakeSlot(move->chunk, /*alias=*/!move->ahead);
  if (calls_.BeginFetch(action, now_, slot, c.log2_size, scheduler_.work().running())) return;
  EndCall(action);
}

void SimulatedMover::Remap(const Action& action) {
  const Remapping how = scheduler_.BeginRemap(action.move, InstantOf(now_));
  calls_.BeginRemap(action, now_, how, memory_[action.move->chunk].log2_size,
                    scheduler_.work().running());
}

void SimulatedMover::EndCall(const Action& ended) {
  rest_.Told();
  if (ended.kind == Action::Kind::kFetch) {
    scheduler_.moves().Started(ended.move);
    if (ended.move->clean) {
      scheduler_.moves().Copied(ended.move, {});
    } else {
      calls_.StartIn(*ended.move);
    }
  } else if (ended.kind == Action::Kind::kRemap) {
    EndRemap(ended.move);
  } else {
    scheduler_.MappedOnHost(ended.chunk, /*ok=*/true, InstantOf(now_));
    Reclaim(ended.chunk);
  }
}

void SimulatedMover::EndRemap(ChunkMove* move) {
  const ChunkIndex chunk = move->chunk;
  const bool in = move->in;
  if (setting_.moves) result_.moves.push_back({now_, chunk, in, move->clean});
  if (in) {
    memory_.Came(now_, chunk);
  } else {
    memory_.Left(now_, chunk);
    if (bound_) bound_->Left(chunk);
    calls_.Owe(memory_.Trim());
  }
  scheduler_.Remapped(move, RemapOutcome::kDone, At());
  Reclaim(chunk);
}

}  // namespace vramspan::replay
