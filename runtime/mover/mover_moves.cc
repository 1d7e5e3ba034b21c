// Moves: from a plan to copies, from finished copies to remaps, and back where a step fails.
#include <absl/algorithm/container.h>
#include <absl/strings/str_cat.h>

#include <algorithm>

#include "runtime/base/log.h"
#include "runtime/mover/mover_move.h"
#include "runtime/mover/remap.h"
#include "runtime/placement/move_limits.h"

namespace vramspan {
namespace {

// A move gives way to a scope that stays open for longer.
constexpr std::chrono::microseconds kScopePatience{200};
// Remaps in one round, so that work that ends is seen soon.
constexpr std::chrono::microseconds kRemapTime{500};

}  // namespace

// The planner's look at the chunks. Made and used under the memory lock.
class Mover::View final : public ResidencyView {
 public:
  // `stuck`, sorted: chunks that will not come free by themselves.
  View(Mover& mover, bool over_budget, std::vector<ChunkIndex> stuck)
      : mover_(mover), over_budget_(over_budget), stuck_(std::move(stuck)) {}

  ChunkView Get(ChunkIndex index) const override VS_NO_THREAD_SAFETY_ANALYSIS {
    const Chunk& c = mover_.memory_.chunks()[index];
    ChunkView v;
    v.size = c.size();
    // A chunk on its way in counts as there: nothing more is to be done for it.
    v.coming = !c.on_device && c.state == ChunkState::kMoving && c.device_slot != kNoSlot;
    v.on_device = c.on_device || v.coming;
    v.busy = c.in_flight != 0 || (c.on_device && c.open != 0) || c.state == ChunkState::kMoving;
    v.movable = mover_.Movable(c) &&
                !(c.on_device && c.advice == Advice::kKeepOnDevice && !over_budget_) &&
                !(c.on_device && c.open != 0 && absl::c_binary_search(stuck_, index)) &&
                !(index == mover_.trial_ && !mover_.queue_.empty() &&
                  mover_.queue_.front()->id == mover_.trial_for_);
    v.prefer_host = mover_.ServedInPlace(c);
    if (v.prefer_host) v.claim = Claim::kNone;
    if (c.advice == Advice::kKeepOnDevice) v.claim = Claim::kKeep;
    return v;
  }

 private:
  Mover& mover_;
  const bool over_budget_;
  const std::vector<ChunkIndex> stuck_;
};

bool Mover::Movable(const Chunk& c) const {
  return c.movable && !c.dying && c.state != ChunkState::kPinned && c.state != ChunkState::kNone &&
         memory_.UsersKnown(c);
}

bool Mover::ServedInPlace(const Chunk& c) const {
  return c.advice == Advice::kPreferHost || c.advice == Advice::kStreamedOnce;
}

bool Mover::DeviceIdle() {
  return absl::c_all_of(streams_.all(), [](const auto& state) {
    return absl::c_all_of(state->in_flight, [&](const Work* work) {
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

std::vector<ChunkIndex> Mover::StuckChunks() {
  std::vector<ChunkIndex> stuck;
  const auto now = Clock::now();
  for (const Work* work : queue_) {
    if (!work->open || now - work->begun < kScopePatience) continue;
    stuck.insert(stuck.end(), work->chunks.begin(), work->chunks.end());
  }
  absl::c_sort(stuck);
  return stuck;
}

bool Mover::GiveWayToUnknown() {
  if (open_unknown_ == 0) return false;
  const auto now = Clock::now();
  const auto stuck = absl::c_find_if(queue_, [&](const Work* work) {
    return work->open && work->known == Known::kNothing && now - work->begun > kScopePatience;
  });
  if (stuck == queue_.end()) return false;
  for (auto it = queue_.begin(); it != stuck; ++it) {
    look_again_ = look_again_ || !(*it)->gave_up;
    (*it)->gave_up = true;
  }
  return true;
}

bool Mover::PlanMoves(std::vector<ChunkIndex>* evict, std::vector<ChunkIndex>* fetch) {
  // Work that may touch anything: it waits until nothing moves, so nothing more begins to.
  if (quiet_in_flight_ != 0) return false;
  // Soon more memory may be moved, and nothing is to be given up before.
  if (options_.traced && settling_ != 0) return false;
  if (priced_at_ != history_.changes()) PriceQueue();
  if (!queue_.empty() && queue_.front()->kernel != 0 && !queue_.front()->tried) {
    TryInPlace(queue_.front());
  }
  // More moves would only keep such work waiting.
  if (!queue_.empty() && queue_.front()->quiet() && HasItsMemory(*queue_.front())) return false;
  if (!queue_.empty() && queue_.front()->id == starved_) return false;
  if (GiveWayToUnknown()) return false;
  const Bytes over = OverBudget();
  Bytes coming;
  for (const auto& move : moves_) {
    if (!move->in) coming += move->size();
  }
  const bool may_fetch = moving_in_ < PipelineBytes();
  const bool may_evict = moving_out_ < PipelineBytes();

  // Released work first, in the order in which it was submitted: it says how far off the rest is.
  std::vector<Work*> planned;
  for (const auto& state : streams_.all()) {
    for (Work* work : state->in_flight) {
      if (work->kind == Work::Kind::kScope) planned.push_back(work);
    }
  }
  std::sort(planned.begin(), planned.end(),
            [](const Work* a, const Work* b) { return a->id < b->id; });
  if (planned.size() > kReleasedSeen) {
    planned.erase(planned.begin(), planned.end() - kReleasedSeen);
  }
  size_t released = planned.size();
  bool first = true;
  for (Work* work : queue_) {
    // What comes after work that may touch anything is not looked at before it has run.
    if (work->known == Known::kNothing) break;
    const bool leads = first;
    first = first && work->kind == Work::Kind::kEvict;
    if (work->kind == Work::Kind::kEvict) {
      // Not before what was queued earlier has gone: that may want the same memory on the device.
      if (!leads || !may_evict || work->needs_arrival || work->gave_up) continue;
      for (size_t i = 0; i < work->wanted; ++i) {
        const ChunkIndex index = work->chunks[i];
        const Chunk& c = memory_.chunks()[index];
        if (c.on_device && Movable(c) && c.in_flight == 0 && c.state != ChunkState::kMoving) {
          evict->push_back(index);
        }
      }
      continue;
    }
    // What is let go as it is runs next, but nothing more is fetched for it.
    if (work->gave_up && planned.size() == released) ++released;
    if (!work->gave_up || planned.size() < released) planned.push_back(work);
  }
  if (planned.size() == released && over.value == 0) return !evict->empty();
  std::vector<QueuedWork> works;
  works.reserve(planned.size());
  std::vector<ChunkIndex> with_coming;  // Of the head: no other waits for any.
  for (const Work* work : planned) {
    absl::Span<const ChunkIndex> wanted = absl::MakeConstSpan(work->chunks).first(work->wanted);
    if (!work->coming.empty() && work == queue_.front()) {
      with_coming.assign(wanted.begin(), wanted.end());
      with_coming.insert(with_coming.end(), work->coming.begin(), work->coming.end());
      wanted = with_coming;
    }
    works.push_back({.id = work->id,
                     .chunks = wanted,
                     .duration = options_.traced ? history_.Expected(work->kernel) : 1,
                     .by_hand = work->kind != Work::Kind::kScope});
  }

  AddForecast(&works);

  PlanRequest request;
  request.released = static_cast<uint32_t>(released);
  request.ahead = std::min(PipelineBytes(), kFetchedAhead);
  request.queue = works;
  request.room = memory_.device_pool().available();
  request.room_coming = coming;
  // All of it: a cycle may be many times the budget, and what it needs must not look unneeded.
  request.horizon = Bytes(UINT64_MAX);
  request.must_free = over > coming ? over - coming : Bytes(0);
  if (options_.traced) request.per_byte = kEarly / options_.prices.move_gb_per_s;
  request.max_fetches = may_fetch ? kMovesAtOnce : 0;
  request.max_evictions = may_evict ? kMovesAtOnce : 0;
  const Plan plan = planner_.Make(request, View(*this, over.value != 0, StuckChunks()));
  for (const uint32_t i : plan.in_place) {
    if (i >= planned.size()) continue;  // Not submitted yet.
    look_again_ = true;
    if (!with_coming.empty() && planned[i] == queue_.front()) {
      // There is no room for what others want beside what it wants itself.
      WaitedInVain(planned[i], options_.deadline / kStillShare);
      continue;
    }
    planned[i]->gave_up = true;
  }
  evict->insert(evict->end(), plan.evict.begin(), plan.evict.end());
  fetch->insert(fetch->end(), plan.fetch.begin(), plan.fetch.end());
  return !evict->empty() || !fetch->empty() || !plan.in_place.empty();
}

bool Mover::StartMoves() {
  if (Clock::now() < no_moves_before_) return false;
  std::vector<ChunkIndex> evict, fetch;
  bool any = false;
  bool returning = false;
  {
    MutexLock lock(memory_.mu);
    if (queue_.empty() && OverBudget().value == 0) {
      if (options_.traced && options_.returns) Return(&fetch);
      if (fetch.empty()) return false;
      returning = true;
    } else {
      any = PlanMoves(&evict, &fetch) && evict.empty() && fetch.empty();
    }
  }
  const Bytes pipeline = PipelineBytes();
  for (const ChunkIndex index : evict) {
    if (moving_out_ >= pipeline) break;
    if (!StartEvict(index)) continue;
    any = true;
    MutexLock lock(memory_.mu);
    moves_.back()->by_hand = ServeEvictions(index);
  }
  uint64_t fetched = 0;
  for (const ChunkIndex index : fetch) {
    if (moving_in_ >= pipeline || !StartFetch(index)) break;
    any = true;
    ++fetched;
  }
  if (returning && fetched != 0) {
    MutexLock lock(memory_.mu);
    stats_.returned += fetched;
    may_return_ = true;  // For what had no place in the pipeline.
  }
  return any;
}

bool Mover::ServeEvictions(ChunkIndex index) {
  bool any = false;
  for (Work* work : queue_) {
    if (work->kind != Work::Kind::kEvict) break;
    const auto end = work->chunks.begin() + static_cast<std::ptrdiff_t>(work->wanted);
    const auto it = std::find(work->chunks.begin(), end, index);
    if (it == end) continue;
    heat_.Reset(index);  // It is to stay there until it is used again.
    std::iter_swap(it, work->chunks.begin() + static_cast<std::ptrdiff_t>(--work->wanted));
    any = true;
  }
  return any;
}

bool Mover::StartEvict(ChunkIndex index) {
  auto move = std::make_unique<Move>();
  {
    MutexLock lock(memory_.mu);
    Chunk& c = memory_.chunks()[index];
    if (!c.on_device || c.in_flight != 0 || c.state == ChunkState::kMoving || !Movable(c) ||
        quiet_in_flight_ != 0) {
      return false;
    }
    move->chunk = index;
    move->va = c.base;
    move->log2 = c.log2_size;
    move->origin = c.state;
    move->device_slot = c.device_slot;
    move->host_slot = c.host_slot;
    move->clean = c.state == ChunkState::kDeviceTwin || c.state == ChunkState::kFresh;
    if (c.state == ChunkState::kDeviceStale && c.size() >= kWorthAPrint && DeviceIdle()) {
      move->expected = memory_.prints.at(index.value);
    }
    if (const auto last = memory_.writers.find(index.value); last != memory_.writers.end()) {
      move->content = last->second.left;
    }
    c.Transition(ChunkState::kMoving);
    moves_under_way_.fetch_add(1, std::memory_order_relaxed);
  }
  moving_out_ += move->size();
  move->shown.Begin("evict");
  if (move->host_slot == kNoSlot) {
    const StatusOr<uint32_t> slot = memory_.AcquireHost(move->log2);
    if (!slot.ok()) {
      Abandon(move.get(), slot.status());
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
  moves_.push_back(std::move(move));
  return true;
}

bool Mover::StartFetch(ChunkIndex index) {
  auto move = std::make_unique<Move>();
  move->in = true;
  {
    MutexLock lock(memory_.mu);
    Chunk& c = memory_.chunks()[index];
    if (c.on_device || c.in_flight != 0 || c.state == ChunkState::kMoving || !Movable(c) ||
        quiet_in_flight_ != 0) {
      return false;
    }
    move->chunk = index;
    move->va = c.base;
    move->log2 = c.log2_size;
    move->origin = c.state;
    move->host_slot = c.host_slot;
    move->clean = c.state == ChunkState::kFresh;
    c.Transition(ChunkState::kMoving);
    moves_under_way_.fetch_add(1, std::memory_order_relaxed);
  }
  moving_in_ += move->size();
  move->shown.Begin("fetch");
  const StatusOr<uint32_t> slot = memory_.device_pool().Acquire(move->log2);
  if (!slot.ok()) {
    // The budget's room went to an allocation meanwhile: the next plan knows.
    Abandon(move.get(),
            absl::IsResourceExhausted(slot.status()) ? absl::OkStatus() : slot.status());
    return false;
  }
  move->device_slot = *slot;
  bool print;
  {
    MutexLock lock(memory_.mu);
    print =
        move->size() >= kWorthAPrint && !memory_.host_prints.contains(index.value) && DeviceIdle();
    memory_.chunks()[index].device_slot = *slot;
  }
  const StatusOr<DevicePtr> alias = memory_.device_pool().Alias(*slot);
  if (!alias.ok()) {
    Abandon(move.get(), alias.status());
    return false;
  }
  if (move->clean) {
    move->copy.done.store(true, std::memory_order_relaxed);
  } else {
    // Not by its address: that may show nothing.
    copy_->StartIn(*alias, memory_.host_pool().alias(move->host_slot), move->size(), print,
                   &move->copy);
  }
  moves_.push_back(std::move(move));
  return true;
}

void Mover::ForsakeMoves() {
  for (auto& move : moves_) {
    if (move->copy.done.load(std::memory_order_acquire) || move->unmapped) continue;
    Chunk& c = memory_.chunks()[move->chunk];
    Reachable(*move);
    c.Transition(move->origin);
    ++c.in_flight;  // The copy still reads it.
    if (move->in) c.device_slot = kNoSlot;
    (move->in ? moving_in_ : moving_out_) -= move->size();
    moves_under_way_.fetch_sub(1, std::memory_order_relaxed);
    forsaken_.push_back(std::move(move));
  }
  std::erase(moves_, nullptr);
}

void Mover::BuryForsaken() {
  while (!forsaken_.empty() && forsaken_.front()->copy.done.load(std::memory_order_acquire)) {
    const Move& move = *forsaken_.front();
    {
      MutexLock lock(memory_.mu);
      --memory_.chunks()[move.chunk].in_flight;
      if (!move.copy.status.ok()) RecordError(move.copy.status);
    }
    if (move.in) {
      memory_.device_pool().Release(move.device_slot);
    } else {
      memory_.host_pool().Release(move.host_slot);
    }
    forsaken_.pop_front();
  }
}

bool Mover::FinishMoves() {
  if (copy_ == nullptr || (moves_.empty() && forsaken_.empty())) return false;
  copy_->Poll();
  BuryForsaken();
  const auto until = Clock::now() + kRemapTime;
  bool any = false;
  for (size_t i = 0; i < moves_.size();) {
    Move* move = moves_[i].get();
    if (!move->copy.done.load(std::memory_order_acquire)) {
      ++i;
      continue;
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
  if (move->unmapped || !move->copy.status.ok()) return true;
  const auto now = Clock::now();
  MutexLock lock(memory_.mu);
  if (move->due == Clock::time_point()) move->due = now;
  if (!move->listed && looking_up_ == 0) {
    move->listed = true;
    unreachable_.push_back(move->chunk);
  }
  const Chunk& c = memory_.chunks()[move->chunk];
  if (move->listed && c.open == 0 && open_unknown_ == 0) return true;
  if (now - move->due < kScopePatience) return false;
  // The thread is inside the driver, most likely behind the very work that waits for this move (a
  // copy that returns when it is done): that is served where its memory is.
  for (Work* work : queue_) {
    work->gave_up = work->gave_up || absl::c_linear_search(work->chunks, move->chunk);
  }
  move->copy.status = absl::CancelledError("a scope stays open");
  return true;
}

void Mover::Reachable(const Move& move) {
  std::erase(unreachable_, move.chunk);
  done_.NotifyAll();
}

void Mover::FinishMove(Move* move) {
  if (!move->copy.status.ok()) {
    Abandon(move, absl::IsCancelled(move->copy.status) ? absl::OkStatus() : move->copy.status);
    return;
  }
  nvtx3::scoped_range_in<Move::NvtxDomain> range(move->in ? "fetch: remap" : "evict: remap");
  const CUmemGenericAllocationHandle device = memory_.device_pool().handle(move->device_slot);
  const CUmemGenericAllocationHandle host = memory_.host_pool().handle(move->host_slot);
  bool hidden;
  bool hide = false;
  {
    MutexLock lock(memory_.mu);
    hidden = memory_.chunks()[move->chunk].hidden;
    if (!move->in && MayHide(*move)) {
      hide = true;
      // Already: whoever is to touch it from here on waits until it is shown.
      memory_.SetHidden(move->chunk, true);
    }
  }
  const auto begin = Clock::now();
  RemapResult result;
  if (hide) {
    result.status = Check((*driver_)->MemUnmap(move->va.value, move->size().value), "cuMemUnmap",
                          RangeText(move->va, move->size()));
    result.changed = result.status.ok();
  } else if (hidden) {
    result.status = MapAt(*driver_, memory_.options().ordinal, move->va, move->size(), device);
    result.changed = result.status.ok();
  } else {
    result = Remap(*driver_, memory_.options().ordinal, move->va, move->size(),
                   move->in ? host : device, move->in ? device : host);
  }
  {
    MutexLock lock(memory_.mu);
    if (hide && !result.changed) memory_.SetHidden(move->chunk, false);
    if (hidden && result.changed) memory_.SetHidden(move->chunk, false);
    stats_.vmm_ns += static_cast<uint64_t>((Clock::now() - begin).count());
    ++stats_.remaps;
    if (!result.mapped) {
      move->unmapped = true;
      ++lost_;
      ++stats_.moves_failed;
      RecordError(result.status);
    }
  }
  if (move->unmapped) {
    no_moves_before_ = Clock::now() + kAfterFailure;
  } else if (result.changed) {
    Settle(move, true);
  } else {
    Abandon(move, result.status);
  }
}

bool Mover::Remount(Move* move) {
  if (Clock::now() < no_moves_before_) return false;
  const CUmemGenericAllocationHandle device = memory_.device_pool().handle(move->device_slot);
  const CUmemGenericAllocationHandle host = memory_.host_pool().handle(move->host_slot);
  // Both hold the chunk's contents; where it was going comes first.
  for (const bool to : {move->in, !move->in}) {
    if (MapAt(*driver_, memory_.options().ordinal, move->va, move->size(), to ? device : host)
            .ok()) {
      {
        MutexLock lock(memory_.mu);
        --lost_;
      }
      Settle(move, to == move->in);
      return true;
    }
  }
  no_moves_before_ = Clock::now() + kAfterFailure;
  return false;
}

void Mover::Settle(Move* move, bool changed) {
  if (!changed) {
    Abandon(move, absl::OkStatus());
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
    c.on_device = move->in;
    if (move->in) {
      c.device_slot = move->device_slot;
      // Work that may write anywhere takes all twins away that have no fingerprint.
      const bool quiet = absl::c_any_of(queue_, [](const Work* work) { return work->quiet(); });
      const std::optional<Fingerprint> content = NoteCame(*move);
      const bool twin =
          !move->clean && (!quiet || content.has_value()) && (c.read_mostly || host_has_room);
      if (twin && content.has_value()) memory_.prints[move->chunk.value] = *content;
      c.Transition(twin ? ChunkState::kDeviceTwin : ChunkState::kDevice);
      any_twins_ = any_twins_ || twin;
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
      c.Transition(ChunkState::kHost);
      NoteLeft(*move);
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

void Mover::Abandon(Move* move, const Status& why) {
  (move->in ? moving_in_ : moving_out_) -= move->size();
  uint32_t free_device = kNoSlot;
  uint32_t free_host = kNoSlot;
  {
    MutexLock lock(memory_.mu);
    Chunk& c = memory_.chunks()[move->chunk];
    Reachable(*move);
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
      for (Work* work : queue_) work->gave_up = true;
    }
  }
  if (!why.ok()) no_moves_before_ = Clock::now() + kAfterFailure;
  if (free_device != kNoSlot) memory_.device_pool().Release(free_device);
  if (free_host != kNoSlot) memory_.host_pool().Release(free_host);
}

}  // namespace vramspan
