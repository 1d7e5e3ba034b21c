#include "runtime/scheduler/chunk_views.h"

#include <algorithm>
#include <utility>

namespace vramspan {

void ChunkViews::Set(bool over_budget, ChunkIndex trial, std::vector<ChunkIndex> stuck) {
  if (over_budget != over_budget_) {
    for (uint32_t i = 1; i < residency_.end(); ++i) {
      if (residency_[ChunkIndex(i)].advice == Advice::kKeepOnDevice) {
        residency_.NoteChange(ChunkIndex(i));
      }
    }
  }
  over_budget_ = over_budget;
  if (trial != trial_) {
    for (const ChunkIndex chunk : {trial, trial_}) {
      if (chunk) residency_.NoteChange(chunk);
    }
  }
  trial_ = trial;
  if (stuck != stuck_) {
    for (const std::vector<ChunkIndex>* chunks : {&stuck, &stuck_}) {
      for (const ChunkIndex chunk : *chunks) residency_.NoteChange(chunk);
    }
    stuck_ = std::move(stuck);
  }
  changed_ = residency_.TakeChanged();
}

ChunkView ChunkViews::Get(ChunkIndex index) const {
  const Chunk& c = residency_[index];
  const bool keep = c.advice == Advice::kKeepOnDevice;
  const bool handed_over = c.on_device && c.in_submission != 0;
  ChunkView v;
  v.size = c.size();
  // A chunk on its way in counts as there: nothing more is to be done for it.
  v.incoming = !c.on_device && Residency::Moving(c) && c.device_slot != kNoSlot;
  v.on_device = c.on_device || v.incoming;
  v.busy = c.in_flight != 0 || handed_over || Residency::Moving(c);
  v.movable = residency_.Movable(c) && index != trial_ && !(c.on_device && keep && !over_budget_) &&
              !(handed_over && std::binary_search(stuck_.begin(), stuck_.end(), index));
  v.empty = c.empty() && !v.busy;
  v.prefer_host = Residency::ServedInPlace(c);
  v.claim = keep ? Claim::kKeep : v.prefer_host ? Claim::kNone : Claim::kOrdinary;
  return v;
}

}  // namespace vramspan
