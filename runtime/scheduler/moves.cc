#include "runtime/scheduler/moves.h"

#include <algorithm>

#include "runtime/base/log.h"

namespace vramspan {

using Stage = ChunkMove::Stage;

ChunkMove* Moves::Begin(ChunkIndex chunk, bool in) {
  // All memory that it may need to the end comes first: what has begun cannot fail for that.
  if (free_.empty()) {
    free_.reserve(places_.size() + 1);
    under_way_.reserve(places_.size() + 1);
    places_.emplace_back();
    free_.push_back(static_cast<uint32_t>(places_.size() - 1));
  }
  const uint32_t place = free_.back();
  free_.pop_back();
  ChunkMove* const move = &places_[place];
  Chunk& c = (*from_.residency)[chunk];
  *move = {.chunk = chunk, .place = place, .origin = c.state, .in = in, .size = c.size()};
  under_way_.push_back(move);
  (in ? moving_in_ : moving_out_) += move->size;
  from_.residency->NoteChange(chunk);
  return move;
}

ChunkMove* Moves::Evict(ChunkIndex chunk, bool print) {
  Chunk& c = (*from_.residency)[chunk];
  if (!from_.residency->MayLeave(c) || from_.counts->barriers() != 0) return nullptr;
  const HostCopies::Leaving leaving = from_.host_copies->Leaves(chunk, print);
  ChunkMove* const move = Begin(chunk, /*in=*/false);
  move->clean = leaving.clean || c.empty();
  if (!c.empty()) {
    move->expected = leaving.expected;
    move->content = leaving.content;
  }
  c.Transition(ChunkState::kMoving);
  return move;
}

ChunkMove* Moves::Fetch(ChunkIndex chunk, bool print) {
  Chunk& c = (*from_.residency)[chunk];
  if (!from_.residency->MayCome(c) || from_.counts->barriers() != 0) return nullptr;
  print = print && from_.host_copies->WorthAPrint(chunk);
  ChunkMove* const move = Begin(chunk, /*in=*/true);
  move->clean = c.holds_nothing();
  move->print = print && !move->clean;
  move->ahead = c.unmapped && !from_.reachability->InUse(chunk);
  c.Transition(ChunkState::kMoving);
  return move;
}

void Moves::Copied(ChunkMove* move, const CopyOutcome& copy) {
  move->stage = copy.ok ? Stage::kCopied : Stage::kFailed;
  move->clean |= copy.equal;
  if (copy.print.has_value()) move->content = copy.print;
}

ChunkMove* Moves::First(Stage stage) const {
  const auto it = std::find_if(under_way_.begin(), under_way_.end(),
                               [stage](const ChunkMove* m) { return m->stage == stage; });
  return it == under_way_.end() ? nullptr : *it;
}

ChunkMove* Moves::ToRemap(Instant now, ChunkIndex* blocked) {
  for (ChunkMove* move : under_way_) {
    if (move->stage != Stage::kCopied) continue;
    if (move->ahead) return move;
    if (move->due == Instant()) move->due = now;
    if (!move->listed && !from_.reachability->queried()) {
      from_.reachability->List(move->chunk);
      move->listed = true;
    }
    if (move->listed && !from_.reachability->InUse(move->chunk)) return move;
    if (now - move->due < kBlockedAfter) continue;
    // The thread is inside the driver, most likely behind the very work that waits for this move (a
    // copy that returns when it is done): that is served where its memory is.
    move->stage = Stage::kFailed;
    *blocked = move->chunk;
    return nullptr;
  }
  return nullptr;
}

Remapping Moves::BeginRemap(ChunkMove* move, bool may_hide, Instant now) {
  move->stage = Stage::kRemapping;
  if (move->ahead) return Remapping::kNone;
  const Residency& residency = *from_.residency;
  if (residency[move->chunk].unmapped) return Remapping::kMap;
  if (move->in || !may_hide || move->explicit_request || from_.reachability->queried() ||
      !from_.unmapped->MayStayUnmapped(move->chunk, now)) {
    return Remapping::kSwap;
  }
  // Already: whoever is to touch it from here on waits until it is mapped.
  from_.residency->SetUnmapped(move->chunk, true);
  return Remapping::kUnmap;
}

void Moves::NotRemapped(ChunkMove* move) {
  move->stage = Stage::kCopied;
  if (!move->in) from_.residency->SetUnmapped(move->chunk, false);
}

void Moves::Remapped(ChunkMove* move, RemapOutcome outcome, bool host_has_room) {
  if (outcome == RemapOutcome::kLost) {
    SetLost(move, true);
    return;
  }
  SetLost(move, false);
  Chunk& c = (*from_.residency)[move->chunk];
  if (outcome == RemapOutcome::kAsBefore) {
    if (!move->in) from_.residency->SetUnmapped(move->chunk, false);
    move->stage = Stage::kFailed;
    return;
  }
  c.on_device = move->in;
  move->in ? Came(move, host_has_room) : Left(move);
  Leave(move);
  End(move);
}

void Moves::Came(ChunkMove* move, bool host_has_room) {
  from_.residency->SetUnmapped(move->chunk, false);
  from_.host_copies->Came(move->chunk, {.clean = move->clean,
                                        .barrier_held = from_.queue->barriers() != 0,
                                        .host_has_room = host_has_room,
                                        .print = move->content});
  (*from_.residency)[move->chunk].unused = true;
  if (from_.policy != nullptr) from_.policy->OnInsert(move->chunk);
  ++counts_.fetches;
  if (!move->clean) counts_.in += move->size;
}

void Moves::Left(ChunkMove* move) {
  Chunk& c = (*from_.residency)[move->chunk];
  // What holds nothing leaves without a copy, though there was no host copy.
  const bool twin =
      move->origin == ChunkState::kDeviceTwin || move->origin == ChunkState::kDeviceStale;
  from_.host_copies->Left(move->chunk, move->clean && twin, move->content);
  if (from_.policy != nullptr) from_.policy->OnRemove(move->chunk);
  ++counts_.evictions;
  counts_.fetches_unused += c.unused;
  c.unused = false;
  c.device_slot = kNoSlot;
  (move->clean ? counts_.out_clean : counts_.out) += move->size;
}

void Moves::Unmapped(ChunkMove* move, bool ok) {
  SetLost(move, !ok);
  if (!ok) return;
  move->ahead = false;
  move->stage = Stage::kFailed;
}

void Moves::SetLost(ChunkMove* move, bool lost) {
  (*from_.residency)[move->chunk].lost = lost;
  lost_ += static_cast<uint32_t>(lost) - static_cast<uint32_t>(move->lost);
  move->lost = lost;
  if (lost) move->stage = Stage::kLost;
}

void Moves::RollBack(ChunkMove* move, bool equal) {
  Chunk& c = (*from_.residency)[move->chunk];
  c.Transition(move->origin);
  if (move->in) c.device_slot = kNoSlot;
  // The copy may have begun, so the host holds neither what it did nor what it should.
  if (move->origin == ChunkState::kDeviceStale && !equal) {
    from_.owner->DropHostCopy(move->chunk);
  }
  Leave(move);
  End(move);
}

void Moves::Detach(ChunkMove* move) {
  Chunk& c = (*from_.residency)[move->chunk];
  // What the copy has begun to write over is no host copy any more: it is the copy's from here on.
  const bool overwrites = move->origin == ChunkState::kDeviceStale;
  c.Transition(overwrites ? ChunkState::kDevice : move->origin);
  if (overwrites) c.host_slot = kNoSlot;
  ++c.in_flight;  // The copy still reads it.
  if (move->in) c.device_slot = kNoSlot;
  Leave(move);
  move->stage = Stage::kDetached;
}

void Moves::DetachedEnded(ChunkMove* move) {
  --(*from_.residency)[move->chunk].in_flight;
  from_.residency->NoteChange(move->chunk);
  End(move);
}

void Moves::Leave(ChunkMove* move) {
  if (move->listed) from_.reachability->Unlist(move->chunk);
  from_.residency->NoteChange(move->chunk);
  (move->in ? moving_in_ : moving_out_) -= move->size;
  std::erase(under_way_, move);
}

void Moves::End(ChunkMove* move) { free_.push_back(move->place); }

}  // namespace vramspan
