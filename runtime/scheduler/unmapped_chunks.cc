#include "runtime/scheduler/unmapped_chunks.h"

#include <algorithm>
#include <utility>

#include "runtime/placement/move_limits.h"

namespace vramspan {
namespace {

bool Contains(absl::Span<const ChunkIndex> chunks, ChunkIndex chunk) {
  return std::find(chunks.begin(), chunks.end(), chunk) != chunks.end();
}

}  // namespace

bool UnmappedChunks::MayStayUnmapped(ChunkIndex chunk, Instant now) const {
  const Chunk& c = residency_[chunk];
  return queue_.need_all_mapped() == 0 && counts_.need_all_mapped() == 0 && !last_needs_all_ &&
         counts_.unknown_in_submission() == 0 && now >= no_unmapping_before_ && !all_ &&
         c.mapped_only == 0 && c.in_submission == 0 && !Residency::ServedInPlace(c) &&
         residency_.unmapped() < kMostUnmapped;
}

UnmappedChunks::Wait UnmappedChunks::Look(Work* work, bool has_its_memory, bool active,
                                          Instant now) {
  Wait wait;
  if (work->needs_all_mapped()) {
    all_ = wait.waits = true;
    return wait;
  }
  for (const ChunkUse& use : work->uses) {
    if (!residency_[use.chunk].unmapped) continue;
    wait.waits = true;
    if (has_its_memory) Map(use.chunk);  // Else it may still come.
  }
  for (const absl::Span<const ChunkUse> uses : {work->possible, work->mapped_only}) {
    for (const ChunkUse& use : uses) {
      if (!residency_[use.chunk].unmapped) continue;
      wait.waits = true;
      if (!ComesSoon(work, use.chunk, active, now, &wait)) Map(use.chunk);
    }
  }
  return wait;
}

bool UnmappedChunks::ComesSoon(Work* work, ChunkIndex chunk, bool active, Instant now, Wait* wait) {
  const auto answer = awaited_.Look(active, work->run_in_place, now, &work->awaited);
  if (answer == AwaitedFetches::Answer::kInVain) {
    work->awaited.chunks.clear();
    wait->wants_others = true;
  }
  if (answer != AwaitedFetches::Answer::kWait) return false;
  const Chunk& c = residency_[chunk];
  if (Residency::Moving(c) || Contains(work->awaited.chunks, chunk)) return true;
  const auto wants = [chunk](const Work& next) {
    return !next.run_in_place && Contains(next.wanted.chunks, chunk);
  };
  if (!residency_.Movable(c) || !queue_.AnyBehind(work, kFetchedNotMapped, wants)) return false;
  work->awaited.chunks.push_back(chunk);
  wait->wants_others = true;
  return true;
}

void UnmappedChunks::NotPlanned(Work* work, Instant now) {
  awaited_.NotPlanned(now);
  work->awaited.chunks.clear();
}

void UnmappedChunks::Collect() {
  next_.assign(wanted_.begin(), wanted_.end());
  wanted_.clear();
  if (!all_) return;
  next_.clear();
  for (uint32_t i = 1; i < residency_.end(); ++i) {
    if (residency_[ChunkIndex(i)].unmapped) next_.push_back(ChunkIndex(i));
  }
}

ChunkIndex UnmappedChunks::BeginMapping(Instant idle_since, Instant now) {
  if (now - idle_since > kIdle) all_ = true;
  if (next_.empty() && wants_mapping()) Collect();
  while (!next_.empty()) {
    const ChunkIndex chunk = next_.front();
    next_.pop_front();
    Chunk& c = residency_[chunk];
    // What is on its way to the device is there soon.
    if (!c.unmapped || c.state != ChunkState::kHost) continue;
    c.Transition(ChunkState::kMoving);
    residency_.NoteChange(chunk);
    mapping_ = true;
    return chunk;
  }
  return ChunkIndex();
}

void UnmappedChunks::Mapped(ChunkIndex chunk, bool ok) {
  mapping_ = false;
  residency_[chunk].Transition(ChunkState::kHost);
  if (ok) residency_.SetUnmapped(chunk, false);
  residency_.NoteChange(chunk);
}

}  // namespace vramspan
