#include "runtime/mover/move_maker.h"

#include <absl/cleanup/cleanup.h>

#include <algorithm>
#include <utility>

#include "runtime/mover/now.h"

namespace vramspan {
namespace {

using Clock = std::chrono::steady_clock;
using Stage = ChunkMove::Stage;

RemapResult Of(const Status& status) {
  return {.status = status, .mapped = true, .changed = status.ok()};
}

// Why memory does not leave the device. What the program asked for is served all the same.
Status StaysOnDevice(const Status& why) {
  if (!absl::IsResourceExhausted(why)) return why;
  return Status(why.code(), absl::StrCat("host memory is short, so some memory cannot leave the "
                                         "device, and work uses host memory in place: ",
                                         why.message()));
}

}  // namespace

bool MoveMaker::TakeCopied() {
  bool any = false;
  for (ChunkMove* const move : scheduler_.moves().all()) {
    DriverMove& on = Of(*move);
    if (move->stage != Stage::kCopying || !on.copy.done.load(std::memory_order_acquire)) continue;
    on.why = on.copy.status;
    scheduler_.moves().Copied(
        move, {.ok = on.copy.status.ok(), .equal = on.copy.equal, .print = on.copy.print});
    any = true;
  }
  if (any) {
    accounts_.stats.copy_in_ns = copy_->in_nanoseconds();
    accounts_.stats.copy_out_ns = copy_->out_nanoseconds();
  }
  return any;
}

void MoveMaker::MakePlace() {
  const size_t places = scheduler_.moves().places();
  if (moves_.size() < places) moves_.resize(places);
  detached_.reserve(places);
}

void MoveMaker::Begin(ChunkMove* move) {
  moves_[move->place] = std::make_unique<DriverMove>(memory_.chunks()[move->chunk]);
  scheduler_.moves().Started(move);
}

void MoveMaker::Perform(const Action& action) {
  switch (action.kind) {
    case Action::Kind::kNothing:
    case Action::Kind::kRelease:
      return;
    case Action::Kind::kEvict:
      return StartOut(action.move);
    case Action::Kind::kFetch:
      return StartIn(action.move);
    case Action::Kind::kRemap:
      return Remap(action.move);
    case Action::Kind::kMend:
      return Mend(action.move);
    case Action::Kind::kUnmap:
      return UnmapAhead(action.move);
    case Action::Kind::kGiveUp:
      return GiveUp(action.move);
    case Action::Kind::kDetach:
      return Detach(action.move);
    case Action::Kind::kMapOnHost:
      return MapOnHost(action.chunk);
  }
}

MoveMaker::Slots MoveMaker::Taken(const ChunkMove& move) {
  const DriverMove& on = Of(move);
  if (move.in) return {.device = on.device_slot};
  return {.host = on.took_host_slot ? on.host_slot : kNoSlot};
}

void MoveMaker::Refuse(ChunkMove* move, const Status& why) {
  DriverMove& on = Of(*move);
  const Slots taken = Taken(*move);
  {
    MutexLock lock(memory_.mu);
    accounts_.stats.moves_failed += !why.ok();
    accounts_.Record(why);
    scheduler_.Refused(move, !why.ok(), Now());
  }
  on.shown.End();
  Release(taken);
}

void MoveMaker::StartOut(ChunkMove* move) {
  DriverMove& on = Of(*move);
  auto refuse = absl::MakeCleanup([&] { Refuse(move, absl::OkStatus()); });
  on.shown.Begin("evict");
  if (on.host_slot == kNoSlot) {
    const StatusOr<uint32_t> slot = memory_.supply().AcquireHost(on.log2);
    if (!slot.ok()) {
      std::move(refuse).Cancel();
      Refuse(move, StaysOnDevice(slot.status()));
      return;
    }
    on.host_slot = *slot;
    on.took_host_slot = true;
    memory_.supply().NoteHostUse();
    memory_.supply().TellShortage();
  }
  if (move->clean) {
    on.copy.done.store(true, std::memory_order_relaxed);
  } else {
    copy_->StartOut(memory_.host_pool().alias(on.host_slot), on.va, on.size, move->expected,
                    &on.copy);
  }
  std::move(refuse).Cancel();
}

void MoveMaker::StartIn(ChunkMove* move) {
  DriverMove& on = Of(*move);
  on.device_slot = kNoSlot;
  auto refuse = absl::MakeCleanup([&] { Refuse(move, absl::OkStatus()); });
  on.shown.Begin("fetch");
  const StatusOr<uint32_t> slot = memory_.device_pool().Acquire(on.log2);
  if (!slot.ok()) {
    std::move(refuse).Cancel();
    // The budget's room went to an allocation meanwhile: the next plan knows.
    Refuse(move, absl::IsResourceExhausted(slot.status()) ? absl::OkStatus() : slot.status());
    return;
  }
  on.device_slot = *slot;
  {
    MutexLock lock(memory_.mu);
    memory_.chunks()[move->chunk].device_slot = *slot;
    memory_.chunks().NoteChange(move->chunk);
  }
  const StatusOr<DevicePtr> target = TargetOf(move);
  if (!target.ok()) {
    std::move(refuse).Cancel();
    Refuse(move, target.status());
    return;
  }
  if (move->clean) {
    on.copy.done.store(true, std::memory_order_relaxed);
  } else {
    // Not by its address: that may show nothing.
    copy_->StartIn(*target, memory_.host_pool().alias(on.host_slot), on.size, move->print,
                   &on.copy);
  }
  std::move(refuse).Cancel();
}

StatusOr<DevicePtr> MoveMaker::TargetOf(ChunkMove* move) {
  DriverMove& on = Of(*move);
  if (!move->ahead) return memory_.device_pool().Alias(on.device_slot);
  SharedLock mapping(memory_.peers().mapping_mu);
  const auto begin = Clock::now();
  const Status status = MapAt(memory_.driver(), memory_.peers().accessors(), on.va, on.size,
                              memory_.device_pool().handle(on.device_slot));
  on.accessors = memory_.peers().accessors().changes();
  MutexLock lock(memory_.mu);
  Count(begin);
  if (!status.ok()) return status;
  return on.va;
}

void MoveMaker::Remap(ChunkMove* move) {
  DriverMove& on = Of(*move);
  const nvtx3::scoped_range_in<DriverMove::NvtxDomain> range(move->in ? "fetch: remap"
                                                                      : "evict: remap");
  // The chunk is the next action's unless this one gets so far as to tell what came of it.
  auto again = absl::MakeCleanup([&] {
    MutexLock lock(memory_.mu);
    scheduler_.moves().NotRemapped(move);
  });
  Slots left;
  {
    SharedLock mapping(memory_.peers().mapping_mu);
    Remapping how;
    {
      MutexLock lock(memory_.mu);
      how = scheduler_.BeginRemap(move, Now());
    }
    const auto begin = Clock::now();
    const RemapResult result = ChangeMapping(*move, how);
    // Before it counts as over: whoever waits for that may end the recording.
    if (result.changed && listener_ != nullptr) {
      listener_->Moved(on.va, on.size, move->in, move->clean, on.began);
    }
    std::move(again).Cancel();
    MutexLock lock(memory_.mu);
    if (how != Remapping::kNone) Count(begin);
    if (how == Remapping::kNone && !result.mapped) {
      // It was mapped ahead, and is as it was before.
      on.why = result.status;
      scheduler_.Unmapped(move, /*ok=*/true, Now());
      return;
    }
    const RemapOutcome outcome = result.changed  ? RemapOutcome::kDone
                                 : result.mapped ? RemapOutcome::kAsBefore
                                                 : RemapOutcome::kLost;
    left = Remapped(move, outcome, result.status);
    if (outcome != RemapOutcome::kDone) return;
  }
  on.shown.End();
  Release(left);
}

RemapResult MoveMaker::ChangeMapping(const ChunkMove& move, Remapping how) {
  DriverMove& on = Of(move);
  const CUmemGenericAllocationHandle device = memory_.device_pool().handle(on.device_slot);
  const CUmemGenericAllocationHandle host = memory_.host_pool().handle(on.host_slot);
  const Driver& driver = memory_.driver();
  const Accessors& accessors = memory_.peers().accessors();
  switch (how) {
    case Remapping::kNone:
      break;
    case Remapping::kMap:
      return vramspan::Of(MapAt(driver, accessors, on.va, on.size, device));
    case Remapping::kUnmap:
      return vramspan::Of(Check(driver->MemUnmap(on.va.value, on.size.value), "cuMemUnmap",
                                RangeText(on.va, on.size)));
    case Remapping::kSwap:
      return vramspan::Remap(driver, accessors, on.va, on.size, move.in ? host : device,
                             move.in ? device : host);
  }
  // Whoever changes who has access passes by what is unmapped.
  if (on.accessors == accessors.changes()) return vramspan::Of(absl::OkStatus());
  return vramspan::Remap(driver, accessors, on.va, on.size, device, device);
}

MoveMaker::Slots MoveMaker::Remapped(ChunkMove* move, RemapOutcome outcome, const Status& why) {
  DriverMove& on = Of(*move);
  Chunk& c = memory_.chunks()[move->chunk];
  const bool done = outcome == RemapOutcome::kDone, in = move->in;
  if (done && !in) c.host_slot = on.host_slot;
  if (outcome == RemapOutcome::kLost && move->stage != Stage::kLost) {
    ++accounts_.stats.moves_failed;
    accounts_.Record(why);
  }
  on.why = why;
  HostPool& host = memory_.host_pool();
  const bool host_has_room = (host.used() + host.cached()).value < host.budget().value / 4 * 3;
  scheduler_.Remapped(move, outcome, {.now = Now(), .host_has_room = host_has_room});
  if (!done) return {};
  MovesMade& made = accounts_.stats.made[static_cast<size_t>(move->cause)];
  ++made.chunks;
  made.bytes += on.size;
  if (!in) return {.device = on.device_slot};
  // Its host copy is not kept.
  if (c.state == ChunkState::kDevice) return {.host = std::exchange(c.host_slot, kNoSlot)};
  return {};
}

void MoveMaker::Mend(ChunkMove* move) {
  DriverMove& on = Of(*move);
  RemapOutcome outcome = RemapOutcome::kLost;
  Slots left;
  {
    SharedLock mapping(memory_.peers().mapping_mu);
    // Where it was going comes first.
    for (const bool to : {move->in, !move->in}) {
      const auto handle = to ? memory_.device_pool().handle(on.device_slot)
                             : memory_.host_pool().handle(on.host_slot);
      if (!MapAt(memory_.driver(), memory_.peers().accessors(), on.va, on.size, handle).ok())
        continue;
      outcome = to == move->in ? RemapOutcome::kDone : RemapOutcome::kAsBefore;
      break;
    }
    if (outcome == RemapOutcome::kDone && listener_ != nullptr) {
      listener_->Moved(on.va, on.size, move->in, move->clean, on.began);
    }
    MutexLock lock(memory_.mu);
    // Why it failed was told when it was lost.
    left = Remapped(move, outcome, absl::OkStatus());
    if (outcome != RemapOutcome::kDone) return;
  }
  on.shown.End();
  Release(left);
}

void MoveMaker::UnmapAhead(ChunkMove* move) {
  const DriverMove& on = Of(*move);
  SharedLock mapping(memory_.peers().mapping_mu);
  const Status status = Check(memory_.driver()->MemUnmap(on.va.value, on.size.value), "cuMemUnmap",
                              RangeText(on.va, on.size));
  MutexLock lock(memory_.mu);
  if (!status.ok() && move->stage != Stage::kLost) {
    ++accounts_.stats.moves_failed;
    accounts_.Record(status);
  }
  scheduler_.Unmapped(move, status.ok(), Now());
}

void MoveMaker::GiveUp(ChunkMove* move) {
  DriverMove& on = Of(*move);
  const Slots taken = Taken(*move);
  {
    MutexLock lock(memory_.mu);
    accounts_.stats.moves_failed += !on.why.ok();
    accounts_.Record(on.why);
    scheduler_.GiveUp(move, !on.why.ok(), Now());
  }
  on.shown.End();
  Release(taken);
}

void MoveMaker::Detach(ChunkMove* move) {
  DriverMove& on = Of(*move);
  MutexLock lock(memory_.mu);
  if (!move->in && !on.took_host_slot) {
    // The copy goes on writing there.
    memory_.chunks()[move->chunk].host_slot = kNoSlot;
    on.took_host_slot = true;
  }
  detached_.push_back(move);
  scheduler_.moves().Detach(move);
}

void MoveMaker::ReapDetached() {
  for (size_t i = 0; i < detached_.size();) {
    ChunkMove* const move = detached_[i];
    DriverMove& on = Of(*move);
    if (!on.copy.done.load(std::memory_order_acquire)) {
      ++i;
      continue;
    }
    detached_.erase(detached_.begin() + static_cast<std::ptrdiff_t>(i));
    const Slots taken = Taken(*move);
    {
      MutexLock lock(memory_.mu);
      scheduler_.moves().DetachedEnded(move);
      accounts_.Record(on.copy.status);
    }
    Release(taken);
  }
}

void MoveMaker::MapOnHost(ChunkIndex chunk) {
  DevicePtr va;
  Bytes size;
  uint32_t slot;
  {
    MutexLock lock(memory_.mu);
    const Chunk& c = memory_.chunks()[chunk];
    va = c.base;
    size = c.size();
    slot = c.host_slot;
  }
  SharedLock mapping(memory_.peers().mapping_mu);
  Status status = absl::CancelledError("an exception ended the mapping");
  const auto begin = Clock::now();
  const auto tell = absl::MakeCleanup([&] {
    MutexLock lock(memory_.mu);
    Count(begin);
    accounts_.stats.moves_failed += !status.ok();
    accounts_.Record(status);
    scheduler_.MappedOnHost(chunk, status.ok(), Now());
  });
  status = MapAt(memory_.driver(), memory_.peers().accessors(), va, size,
                 memory_.host_pool().handle(slot));
}

void MoveMaker::Release(Slots slots) {
  if (slots.device != kNoSlot) memory_.device_pool().Release(slots.device);
  if (slots.host != kNoSlot) memory_.host_pool().Release(slots.host);
}

void MoveMaker::Count(Clock::time_point begin) {
  accounts_.stats.vmm_ns += static_cast<uint64_t>((Clock::now() - begin).count());
  ++accounts_.stats.remaps;
}

}  // namespace vramspan
