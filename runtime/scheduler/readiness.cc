#include "runtime/scheduler/readiness.h"

#include <algorithm>

namespace vramspan {

bool Readiness::NoneMoves(absl::Span<const ChunkUse> uses) const {
  return std::none_of(uses.begin(), uses.end(), [this](const ChunkUse& use) {
    return Residency::Moving(residency_[use.chunk]);
  });
}

bool Readiness::NoneIsLost(absl::Span<const ChunkUse> uses) const {
  return std::none_of(uses.begin(), uses.end(),
                      [this](const ChunkUse& use) { return residency_[use.chunk].lost; });
}

bool Readiness::RunsAsItIs(const Work& work, const Conditions& at) const {
  if (at.moving || at.unmapped != 0) {
    if (work.needs_all_mapped() && (at.unmapped != 0 || at.lost != 0)) return false;
    if (work.barrier() || !NoneMoves(work.uses) || !NoneMoves(work.possible)) return false;
    if (!NoneIsLost(work.mapped_only)) return false;
    bool unmapped = false;
    work.ForEach([&](const ChunkUse& use) { unmapped |= residency_[use.chunk].unmapped; });
    if (unmapped) return false;
  }
  return std::all_of(work.wanted.chunks.begin(), work.wanted.chunks.end(),
                     [this](ChunkIndex chunk) {
                       const Chunk& c = residency_[chunk];
                       const bool stays = c.allocation == 0 && !c.movable;
                       return c.on_device || stays || Residency::ServedInPlace(c);
                     });
}

bool Readiness::HasItsMemory(const Work& work, const Conditions& at) const {
  if (work.needs_arrival && !work.run_in_place) return false;
  if (at.moving && (!NoneMoves(work.uses) || !NoneMoves(work.possible))) return false;
  if (at.moving && !at.dead && !NoneIsLost(work.mapped_only)) return false;
  if (work.run_in_place) return true;
  return std::all_of(work.wanted.chunks.begin(), work.wanted.chunks.end(), [&](ChunkIndex chunk) {
    const Chunk& c = residency_[chunk];
    if (c.state == ChunkState::kPinned) return true;
    // Work from before tracking ends soon, and then its users are known.
    if (at.draining && c.movable && !residency_.UsersKnown(c)) return false;
    if (work.kind == Work::Kind::kEvict) return !c.on_device || !residency_.Movable(c);
    return c.on_device || !residency_.Movable(c) ||
           (work.kind == Work::Kind::kScope && Residency::ServedInPlace(c));
  });
}

bool Readiness::Ready(Work* work, const Conditions& at, bool* wants_others) {
  if (work->barrier() && at.moving) return false;
  if (work->needs_all_mapped() && at.lost != 0 && !at.dead) return false;
  const bool has = HasItsMemory(*work, at);
  // What it may touch is mapped while what it wants is still on the link.
  if (at.unmapped != 0 && work->kind == Work::Kind::kScope && !at.dead) {
    const UnmappedChunks::Wait wait = unmapped_.Look(work, has, at.moving || at.running, at.now);
    *wants_others |= wait.wants_others;
    if (wait.waits) return false;
  }
  if (!has) return false;
  return trials_ == nullptr || !trials_->OnTrial(*work) || work->run_in_place ||
         !trials_->WaitsForCopies(at.moving, at.now);
}

}  // namespace vramspan
