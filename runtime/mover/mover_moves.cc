// Moves: from a plan (scheduler/plan_maker.h) to copies, from finished copies to remaps, and back
// where a step fails.
#include <absl/algorithm/container.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <exception>

#include "runtime/base/log.h"
#include "runtime/memory/remap.h"
#include "runtime/mover/mover_move.h"
#include "runtime/placement/move_limits.h"

namespace vramspan {
namespace {

constexpr std::chrono::nanoseconds kRemapTime{kRemapTimeNs};

}  // namespace

// A move that is being started. Its place in moves_ is made first, so that a copy that has begun is
// known; where an exception comes before that, its chunk is as it was.
class Mover::Starting {
 public:
  explicit Starting(Mover* mover) : mover_(*mover) { mover_.moves_.emplace_back(); }
  ~Starting() {
    if (mover_.moves_.back() != nullptr) return;
    mover_.moves_.pop_back();
    if (move_ != nullptr && std::uncaught_exceptions() > before_) {
      mover_.RollBack(move_, absl::OkStatus());
    }
  }
  Starting(const Starting&) = delete;
  Starting& operator=(const Starting&) = delete;
  void Moves(Move* move) { move_ = move; }  // Its chunk is in state kMoving.

 private:
  Mover& mover_;
  Move* move_ = nullptr;
  const int before_ = std::uncaught_exceptions();
};

bool Mover::StartMoves() {
  if (Clock::now() < no_moves_before_) return false;
  bool any = false;
  bool returning = false;
  std::vector<ChunkIndex>& evict = plan_.evict;
  std::vector<ChunkIndex>& fetch = plan_.fetch;
  {
    MutexLock lock(memory_.mu);
    evict.clear();
    fetch.clear();
    if (queue_.empty() && OverBudget().value == 0) {
      if (options_.traced && options_.idle_fetches && !trials_.TimedRuns(Now()) &&
          counts_.barriers() == 0 && moves_.empty()) {
        idle_fetches_.Add(residency_, trials_.heat(), memory_.device_pool().available(), Now(),
                          &fetch);
      }
      if (fetch.empty()) return false;
      returning = true;
    } else {
      const DevicePool& pool = memory_.device_pool();
      const Room room{.budget = pool.budget(),
                      .used = pool.used(),
                      .available = pool.available(),
                      .moving_in = moving_in_,
                      .moving_out = moving_out_};
      const bool more = plan_maker_.Make(room, ConditionsNow(), &plan_);
      look_again_ = look_again_ || more;
      any = more && evict.empty() && fetch.empty();
    }
  }
  const Bytes pipeline = PipelineBytes();
  for (const ChunkIndex index : evict) {
    if (moving_out_ >= pipeline) break;
    if (!StartEvict(index)) continue;
    any = true;
    MutexLock lock(memory_.mu);
    moves_.back()->explicit_request = ServeEvictions(index);
  }
  uint64_t fetched = 0;
  const auto until = Clock::now() + kRemapTime;
  for (const ChunkIndex index : fetch) {
    if (moving_in_ >= pipeline || !StartFetch(index)) break;
    any = true;
    ++fetched;
    if (Clock::now() > until) break;
  }
  if (returning && fetched != 0) {
    MutexLock lock(memory_.mu);
    stats_.returned += fetched;
  }
  return any;
}

bool Mover::DeviceIdle() {
  return absl::c_all_of(streams_.busy(), [](const StreamState* state) {
    return absl::c_all_of(state->in_flight, [&](const StreamWork* work) {
      return work->ended && (!work->end.has_value() || state->Reached(*work->end));
    });
  });
}

Bytes Mover::OverBudget() {
  const Bytes used = memory_.device_pool().used();
  const Bytes budget = memory_.device_pool().budget();
  return used > budget ? used - budget : Bytes(0);
}

Bytes Mover::PipelineBytes() { return vramspan::PipelineBytes(memory_.device_pool().budget()); }

bool Mover::ServeEvictions(ChunkIndex index) {
  bool any = false;
  for (Work* work : queue_) {
    if (work->kind != Work::Kind::kEvict) break;
    if (std::erase(work->part, index) == 0) continue;
    work->wanted = work->part;
    trials_.heat().Reset(index);  // It is to stay there until it is used again.
    any = true;
  }
  return any;
}

bool Mover::StartEvict(ChunkIndex index) {
  auto move = std::make_unique<Move>();
  Starting starting(this);
  {
    MutexLock lock(memory_.mu);
    Chunk& c = memory_.chunks()[index];
    if (!residency_.MayLeave(c) || counts_.barriers() != 0) return false;
    move->chunk = index;
    move->va = c.base;
    move->log2 = c.log2_size;
    move->origin = c.state;
    move->device_slot = c.device_slot;
    move->host_slot = c.host_slot;
    const bool print = c.state == ChunkState::kDeviceStale && DeviceIdle();
    const HostCopies::Leaving leaving = host_copies_.Leaves(index, print);
    move->clean = leaving.clean;
    move->expected = leaving.expected;
    move->content = leaving.content;
    c.Transition(ChunkState::kMoving);
    residency_.NoteChange(index);
    moves_under_way_.fetch_add(1, std::memory_order_relaxed);
  }
  moving_out_ += move->size();
  starting.Moves(move.get());
  move->shown.Begin("evict");
  if (move->host_slot == kNoSlot) {
    const StatusOr<uint32_t> slot = memory_.AcquireHost(move->log2);
    if (!slot.ok()) {
      RollBack(move.get(), slot.status());
      return false;
    }
    move->host_slot = *slot;
    memory_.NoteHostUse();
  }
  if (move->clean) {
    move->copy.done.store(true, std::memory_order_relaxed);
  } else {
    copy_->StartOut(memory_.host_pool().alias(move->host_slot), move->va, move->size(),
                    move->expected, &move->copy);
  }
  moves_.back() = std::move(move);
  return true;
}

bool Mover::StartFetch(ChunkIndex index) {
  auto move = std::make_unique<Move>();
  Starting starting(this);
  move->in = true;
  {
    MutexLock lock(memory_.mu);
    Chunk& c = memory_.chunks()[index];
    if (!residency_.MayCome(c) || counts_.barriers() != 0) return false;
    move->chunk = index;
    move->va = c.base;
    move->log2 = c.log2_size;
    move->origin = c.state;
    move->host_slot = c.host_slot;
    move->clean = c.state == ChunkState::kFresh;
    c.Transition(ChunkState::kMoving);
    residency_.NoteChange(index);
    moves_under_way_.fetch_add(1, std::memory_order_relaxed);
  }
  moving_in_ += move->size();
  starting.Moves(move.get());
  move->shown.Begin("fetch");
  const StatusOr<uint32_t> slot = memory_.device_pool().Acquire(move->log2);
  if (!slot.ok()) {
    // The budget's room went to an allocation meanwhile: the next plan knows.
    RollBack(move.get(),
             absl::IsResourceExhausted(slot.status()) ? absl::OkStatus() : slot.status());
    return false;
  }
  move->device_slot = *slot;
  bool print;
  {
    MutexLock lock(memory_.mu);
    print = host_copies_.WorthAPrint(index) && DeviceIdle();
    memory_.chunks()[index].device_slot = *slot;
    residency_.NoteChange(index);
  }
  const StatusOr<DevicePtr> target = FetchTarget(move.get());
  if (!target.ok()) {
    RollBack(move.get(), target.status());
    return false;
  }
  if (move->clean) {
    move->copy.done.store(true, std::memory_order_relaxed);
  } else {
    // Not by its address: that may show nothing.
    copy_->StartIn(*target, memory_.host_pool().alias(move->host_slot), move->size(), print,
                   &move->copy);
  }
  moves_.back() = std::move(move);
  return true;
}

StatusOr<DevicePtr> Mover::FetchTarget(Move* move) {
  {
    MutexLock lock(memory_.mu);
    const Chunk& c = memory_.chunks()[move->chunk];
    move->ahead = c.unmapped && c.in_submission == 0 && counts_.unknown_in_submission() == 0 &&
                  address_queries_ == 0;
  }
  if (!move->ahead) return memory_.device_pool().Alias(move->device_slot);
  SharedLock mapping(memory_.mapping_mu);
  const auto begin = Clock::now();
  const Status status = MapAt(*driver_, memory_.accessors(), move->va, move->size(),
                              memory_.device_pool().handle(move->device_slot));
  move->ahead = status.ok();
  move->accessors = memory_.accessors().changes();
  MutexLock lock(memory_.mu);
  stats_.vmm_ns += static_cast<uint64_t>((Clock::now() - begin).count());
  ++stats_.remaps;
  if (!status.ok()) return status;
  return move->va;
}

bool Mover::UnmapAhead(Move* move) {
  SharedLock mapping(memory_.mapping_mu);
  const Status status = Check((*driver_)->MemUnmap(move->va.value, move->size().value),
                              "cuMemUnmap", RangeText(move->va, move->size()));
  move->ahead = !status.ok();
  if (move->ahead) no_moves_before_ = Clock::now() + kAfterFailure;
  if (move->ahead == move->unmapped) return status.ok();
  // While it shows here the memory cannot be another's.
  MutexLock lock(memory_.mu);
  move->unmapped = move->ahead;
  memory_.chunks()[move->chunk].lost = move->ahead;
  lost_ += move->ahead ? 1 : -1;
  if (status.ok()) return true;
  ++stats_.moves_failed;
  RecordError(status);
  return false;
}

void Mover::DetachMoves() {
  for (auto& move : moves_) {
    if (move->copy.done.load(std::memory_order_acquire) || move->unmapped) continue;
    Chunk& c = memory_.chunks()[move->chunk];
    Reachable(*move);
    c.Transition(move->origin);
    ++c.in_flight;  // The copy still reads it.
    residency_.NoteChange(move->chunk);
    if (move->in) c.device_slot = kNoSlot;
    (move->in ? moving_in_ : moving_out_) -= move->size();
    moves_under_way_.fetch_sub(1, std::memory_order_relaxed);
    detached_.push_back(std::move(move));
  }
  std::erase(moves_, nullptr);
}

void Mover::ReapDetached() {
  while (!detached_.empty() && detached_.front()->copy.done.load(std::memory_order_acquire)) {
    const Move& move = *detached_.front();
    {
      MutexLock lock(memory_.mu);
      --memory_.chunks()[move.chunk].in_flight;
      residency_.NoteChange(move.chunk);
      if (!move.copy.status.ok()) RecordError(move.copy.status);
    }
    if (move.in) {
      memory_.device_pool().Release(move.device_slot);
    } else {
      memory_.host_pool().Release(move.host_slot);
    }
    detached_.pop_front();
  }
}

bool Mover::FinishMoves() {
  if (copy_ == nullptr || (moves_.empty() && detached_.empty())) return false;
  copy_->Poll();
  ReapDetached();
  const auto until = Clock::now() + kRemapTime;
  bool any = false;
  for (size_t i = 0; i < moves_.size();) {
    Move* move = moves_[i].get();
    if (!move->copy.done.load(std::memory_order_acquire)) {
      ++i;
      continue;
    }
    {
      MutexLock lock(memory_.mu);
      if (trials_.TimedRuns(Now())) break;
    }
    if (!MayRemap(move)) {
      ++i;
      continue;
    }
    if (move->unmapped ? !Remount(move) : (FinishMove(move), move->unmapped)) {
      ++i;
      continue;
    }
    any = true;
    if (move->in) {
      // What waits for it alone need not wait for the others.
      MutexLock lock(memory_.mu);
      ReleaseReady();
    }
    moves_.erase(moves_.begin() + static_cast<std::ptrdiff_t>(i));
    if (Clock::now() > until) break;
    copy_->Poll();
  }
  if (any) {
    MutexLock lock(memory_.mu);
    stats_.copy_in_ns = copy_->in_nanoseconds();
    stats_.copy_out_ns = copy_->out_nanoseconds();
  }
  return any;
}

bool Mover::MayRemap(Move* move) {
  if (move->unmapped || move->ahead || !move->copy.status.ok()) return true;
  const auto now = Clock::now();
  MutexLock lock(memory_.mu);
  if (move->due == Clock::time_point()) move->due = now;
  if (!move->listed && address_queries_ == 0) {
    move->listed = true;
    unreachable_.push_back(move->chunk);
  }
  const Chunk& c = memory_.chunks()[move->chunk];
  if (move->listed && c.in_submission == 0 && counts_.unknown_in_submission() == 0) return true;
  if (now - move->due < kBlockedAfter) return false;
  // The thread is inside the driver, most likely behind the very work that waits for this move (a
  // copy that returns when it is done): that is served where its memory is.
  plan_maker_.Remake();
  for (Work* work : queue_) {
    work->run_in_place =
        work->run_in_place || absl::c_any_of(Own(work)->all, [move](const ChunkUse& use) {
          return use.chunk == move->chunk;
        });
  }
  move->copy.status = absl::CancelledError("a scope stays open");
  return true;
}

void Mover::Reachable(const Move& move) {
  std::erase(unreachable_, move.chunk);
  done_.NotifyAll();
}

Status Mover::WhyGivenUp(const Move& move) {
  return absl::IsCancelled(move.copy.status) ? absl::OkStatus() : move.copy.status;
}

void Mover::FinishMove(Move* move) {
  const auto give_up = [&] {
    if (!move->ahead || UnmapAhead(move)) RollBack(move, WhyGivenUp(*move));
  };
  if (!move->copy.status.ok()) {
    give_up();
    return;
  }
  nvtx3::scoped_range_in<Move::NvtxDomain> range(move->in ? "fetch: remap" : "evict: remap");
  const RemapResult result = RemapMoved(move);
  if (move->unmapped) {
    no_moves_before_ = Clock::now() + kAfterFailure;
  } else if (result.changed) {
    CompleteMove(move, true);
  } else {
    move->copy.status = result.status;
    give_up();
  }
}

RemapResult Mover::RemapMoved(Move* move) {
  const CUmemGenericAllocationHandle device = memory_.device_pool().handle(move->device_slot);
  const CUmemGenericAllocationHandle host = memory_.host_pool().handle(move->host_slot);
  bool unmapped;
  bool hide = false;
  SharedLock mapping(memory_.mapping_mu);
  {
    MutexLock lock(memory_.mu);
    unmapped = memory_.chunks()[move->chunk].unmapped;
    if (!move->in && LeaveUnmapped(*move)) {
      hide = true;
      // Already: whoever is to touch it from here on waits until it is shown.
      memory_.chunks().SetUnmapped(move->chunk, true);
    }
  }
  const auto begin = Clock::now();
  RemapResult result;
  if (move->ahead) {
    result.changed = true;
    // Whoever changes it passes by what is unmapped.
    if (move->accessors != memory_.accessors().changes()) {
      result = Remap(*driver_, memory_.accessors(), move->va, move->size(), device, device);
      move->ahead = std::exchange(result.mapped, true);
    }
  } else if (hide) {
    result.status = Check((*driver_)->MemUnmap(move->va.value, move->size().value), "cuMemUnmap",
                          RangeText(move->va, move->size()));
    result.changed = result.status.ok();
  } else if (unmapped) {
    result.status = MapAt(*driver_, memory_.accessors(), move->va, move->size(), device);
    result.changed = result.status.ok();
  } else {
    result = Remap(*driver_, memory_.accessors(), move->va, move->size(), move->in ? host : device,
                   move->in ? device : host);
  }
  MutexLock lock(memory_.mu);
  if (hide && !result.changed) memory_.chunks().SetUnmapped(move->chunk, false);
  if (unmapped && result.changed) memory_.chunks().SetUnmapped(move->chunk, false);
  stats_.vmm_ns += static_cast<uint64_t>((Clock::now() - begin).count());
  if (!move->ahead) ++stats_.remaps;  // Else it was counted.
  if (!result.mapped) {
    move->unmapped = true;
    memory_.chunks()[move->chunk].lost = true;
    ++lost_;
    ++stats_.moves_failed;
    RecordError(result.status);
  }
  return result;
}

bool Mover::Remount(Move* move) {
  if (Clock::now() < no_moves_before_) return false;
  if (move->ahead) {
    if (!UnmapAhead(move)) return false;
    RollBack(move, WhyGivenUp(*move));
    return true;
  }
  const CUmemGenericAllocationHandle device = memory_.device_pool().handle(move->device_slot);
  const CUmemGenericAllocationHandle host = memory_.host_pool().handle(move->host_slot);
  // Both hold the chunk's contents; where it was going comes first.
  for (const bool to : {move->in, !move->in}) {
    {
      SharedLock mapping(memory_.mapping_mu);
      if (!MapAt(*driver_, memory_.accessors(), move->va, move->size(), to ? device : host).ok()) {
        continue;
      }
      MutexLock lock(memory_.mu);
      memory_.chunks()[move->chunk].lost = false;
      --lost_;
    }
    CompleteMove(move, to == move->in);
    return true;
  }
  no_moves_before_ = Clock::now() + kAfterFailure;
  return false;
}

void Mover::CompleteMove(Move* move, bool changed) {
  if (!changed) {
    RollBack(move, absl::OkStatus());
    return;
  }
  uint32_t free_device = kNoSlot;
  uint32_t free_host = kNoSlot;
  HostPool& host = memory_.host_pool();
  const bool host_has_room = (host.used() + host.cached()).value < host.budget().value / 4 * 3;
  // Before it counts as over: whoever waits for that may end the recording.
  if (options_.listener != nullptr) {
    options_.listener->Moved(move->va, move->size(), move->in, move->clean || move->copy.equal,
                             move->began);
  }
  {
    MutexLock lock(memory_.mu);
    Chunk& c = memory_.chunks()[move->chunk];
    Reachable(*move);
    residency_.NoteChange(move->chunk);
    c.on_device = move->in;
    if (move->in) {
      c.device_slot = move->device_slot;
      const bool twin = host_copies_.Came(move->chunk, {.clean = move->clean,
                                                        .barrier_held = queue_.barriers() != 0,
                                                        .host_has_room = host_has_room,
                                                        .print = move->copy.print});
      if (!twin) {
        free_host = c.host_slot;
        c.host_slot = kNoSlot;
      }
      memory_.policy().OnInsert(move->chunk);
      ++stats_.fetches;
      c.unused = true;
      if (!move->clean) stats_.bytes_in += move->size();
    } else {
      c.host_slot = move->host_slot;
      c.device_slot = kNoSlot;
      free_device = move->device_slot;
      host_copies_.Left(move->chunk, move->clean || move->copy.equal, move->content);
      memory_.policy().OnRemove(move->chunk);
      ++stats_.evictions;
      stats_.fetches_unused += c.unused;
      c.unused = false;
      (move->clean || move->copy.equal ? stats_.bytes_out_clean : stats_.bytes_out) += move->size();
    }
    moves_under_way_.fetch_sub(1, std::memory_order_relaxed);
  }
  (move->in ? moving_in_ : moving_out_) -= move->size();
  if (free_device != kNoSlot) memory_.device_pool().Release(free_device);
  if (free_host != kNoSlot) host.Release(free_host);
}

void Mover::RollBack(Move* move, const Status& why) {
  (move->in ? moving_in_ : moving_out_) -= move->size();
  uint32_t free_device = kNoSlot;
  uint32_t free_host = kNoSlot;
  {
    MutexLock lock(memory_.mu);
    Chunk& c = memory_.chunks()[move->chunk];
    Reachable(*move);
    residency_.NoteChange(move->chunk);
    c.Transition(move->origin);
    // The copy may have begun, so the host holds neither what it did nor what it should.
    if (move->origin == ChunkState::kDeviceStale && !move->copy.equal) {
      memory_.DropHostCopy(move->chunk);
      move->host_slot = kNoSlot;
    }
    if (move->in) {
      c.device_slot = kNoSlot;
      free_device = move->device_slot;
    } else if (c.host_slot != move->host_slot) {
      free_host = move->host_slot;
    }
    moves_under_way_.fetch_sub(1, std::memory_order_relaxed);
    if (!why.ok()) {
      ++stats_.moves_failed;
      RecordError(why);
      // What waits is served where its memory is: a remap is never required.
      for (Work* work : queue_) work->run_in_place = true;
      plan_maker_.Remake();
    }
  }
  if (!why.ok()) no_moves_before_ = Clock::now() + kAfterFailure;
  if (free_device != kNoSlot) memory_.device_pool().Release(free_device);
  if (free_host != kNoSlot) memory_.host_pool().Release(free_host);
}

}  // namespace vramspan
