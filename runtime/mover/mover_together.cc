// Remaps of chunks that lie side by side, with one call for several of them: one call may give
// access to many mappings, or end them (conformance: Mapping.OneSetAccessSpans...,
// OneUnmapSpans...). Every call has to pass the threads that launch, so where several moves are
// done they share it. What fails together is tried again one by one, where failures are told.
#include <absl/algorithm/container.h>

#include <algorithm>

#include "runtime/mover/mover_move.h"
#include "runtime/mover/remap.h"

namespace vramspan {
namespace {

// Work waits for the whole group.
constexpr size_t kMostTogether = 16;

}  // namespace

bool Mover::FinishedWithNeighbours(Move* move) {
  if (move->unmapped || !move->copy.status.ok()) return false;
  Ending ending;
  {
    MutexLock lock(memory_.mu);
    ending = EndingOf(*move);
  }
  if (ending == Ending::kChanges) return false;
  FindNeighbours(move, ending, &together_);
  if (together_.size() < 2 || !FinishTogether(together_, ending)) return false;
  std::erase_if(moves_, [&](const auto& m) { return absl::c_linear_search(together_, m.get()); });
  return true;
}

Mover::Ending Mover::EndingOf(const Move& move) {
  if (move.in) {
    return memory_.chunks()[move.chunk].hidden ? Ending::kAppears : Ending::kChanges;
  }
  return MayHide(move) ? Ending::kHides : Ending::kChanges;
}

void Mover::FindNeighbours(Move* first, Ending ending, std::vector<Move*>* group) {
  group->clear();
  uint32_t allocation;
  {
    MutexLock lock(memory_.mu);
    allocation = memory_.chunks()[first->chunk].allocation;
  }
  for (const auto& move : moves_) {
    if (move->in == first->in && !move->unmapped && move->copy.status.ok() &&
        move->copy.done.load(std::memory_order_acquire)) {
      group->push_back(move.get());
    }
  }
  absl::c_sort(*group, [](const Move* a, const Move* b) { return a->va < b->va; });
  const auto joins = [&](const Move& low, const Move& high, Move* who) {
    if (low.va + low.size() != high.va || !MayRemap(who) || !who->copy.status.ok()) return false;
    MutexLock lock(memory_.mu);
    return memory_.chunks()[who->chunk].allocation == allocation && EndingOf(*who) == ending;
  };
  const auto at = absl::c_find(*group, first);
  auto begin = at, end = at + 1;
  const auto room = [&] { return static_cast<size_t>(end - begin) < kMostTogether; };
  while (room() && end != group->end() && joins(**(end - 1), **end, *end)) ++end;
  while (room() && begin != group->begin() && joins(**(begin - 1), **begin, *(begin - 1))) --begin;
  group->erase(end, group->end());
  group->erase(group->begin(), begin);
}

bool Mover::FinishTogether(absl::Span<Move* const> group, Ending ending) {
  nvtx3::scoped_range_in<Move::NvtxDomain> range(group[0]->in ? "fetch: remap many"
                                                              : "evict: remap many");
  const DevicePtr va = group[0]->va;
  const Bytes size(((group.back()->va + group.back()->size()) - va).value);
  if (ending == Ending::kHides) {
    MutexLock lock(memory_.mu);
    if (!absl::c_all_of(group, [&](Move* m) VS_NO_THREAD_SAFETY_ANALYSIS { return MayHide(*m); })) {
      return false;
    }
    for (Move* move : group) memory_.SetHidden(move->chunk, true);
  }
  const auto begin = Clock::now();
  Status status;
  if (ending == Ending::kHides) {
    status = Check((*driver_)->MemUnmap(va.value, size.value), "cuMemUnmap", RangeText(va, size));
  } else {
    status = MapTogether(group, va, size);
  }
  {
    MutexLock lock(memory_.mu);
    if (status.ok() != (ending == Ending::kHides)) {
      for (Move* move : group) memory_.SetHidden(move->chunk, false);
    }
    stats_.vmm_ns += static_cast<uint64_t>((Clock::now() - begin).count());
    if (status.ok()) stats_.remaps += group.size();
  }
  if (!status.ok()) return false;
  for (Move* move : group) Settle(move, true);
  return true;
}

Status Mover::MapTogether(absl::Span<Move* const> group, DevicePtr va, Bytes size) {
  Status status;
  size_t mapped = 0;
  for (; mapped < group.size() && status.ok(); ++mapped) {
    const Move& m = *group[mapped];
    status = Check((*driver_)->MemMap(m.va.value, m.size().value, 0,
                                      memory_.device_pool().handle(m.device_slot), 0),
                   "cuMemMap", RangeText(m.va, m.size()));
  }
  if (!status.ok()) --mapped;
  if (status.ok()) status = SetDeviceAccess(*driver_, memory_.options().ordinal, va, size);
  if (status.ok()) return status;
  for (const Move* m : group.first(mapped)) {
    driver_->Note(Check((*driver_)->MemUnmap(m->va.value, m->size().value), "cuMemUnmap",
                        RangeText(m->va, m->size())));
  }
  return status;
}

}  // namespace vramspan
