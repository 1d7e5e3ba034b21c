// Moves in virtual time: mover_moves.cc, mover_map.cc and the mover's thread.
#include <absl/algorithm/container.h>

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/placement/move_limits.h"
#include "tools/replay/simulated_mover.h"

namespace vramspan::replay {
namespace {

// The bound's schedule is followed so far ahead of the queue.
constexpr uint32_t kMinAhead = 4096;

uint64_t Nanoseconds(double microseconds) { return static_cast<uint64_t>(1e3 * microseconds); }

}  // namespace

Bytes SimulatedMover::Pipeline() const { return PipelineBytes(setting_.device_memory); }

Bytes SimulatedMover::KeptOf(Bytes budget) {
  return budget - std::min(kFetchedAhead, Bytes(budget.value / kPipelineShare));
}

bool SimulatedMover::Round() {
  if (call_ != Call::kNone) return false;
  bool progress = StartFetches();
  if (call_ != Call::kNone) return false;
  progress |= PollFinished();
  progress |= ReleaseReady();
  progress |= StartMoves();
  const bool begun = call_ != Call::kNone || BeginRemap();
  if (progress || begun) {
    patience_.Progressed(InstantOf(now_));
    last_progress_ = now_;
  }
  CheckDeadline();
  return progress && !begun;
}

bool SimulatedMover::PollFinished() {
  bool any = false;
  const bool in_flight = in_flight_ != 0;
  for (; !ended_.empty(); ended_.pop_front()) {
    ActiveWork* a = ended_.front();
    Stream& stream = streams_[run_.works[a->work].stream];
    if (a->kernel != 0 && trials_) {
      // The thread may have been at a call when it ended.
      const Duration gap(now_ == a->end ? 0 : now_ - last_poll_);
      trials_->Finished(*a, InstantOf(stream.last_finish), gap,
                        patience_.Disturbed(InstantOf(now_)), InstantOf(now_));
    }
    stream.last_finish = now_;
    patience_.Ended(a->work, a->released_at, InstantOf(now_));
    if (plan_maker_) plan_maker_->Ended(*a);
    --in_flight_;
    Finish(a);
    spare_.push_back(a);
    any = true;
  }
  last_poll_ = now_;
  patience_.Looked(in_flight, InstantOf(now_));
  if (any) {
    idle_fetches_.LookAgain();
    plan_again_ = true;
  }
  return any;
}

bool SimulatedMover::StartMoves() {
  const bool over = used_ > setting_.device_memory;
  std::vector<ChunkIndex>& evict = plan_.evict;
  std::vector<ChunkIndex>& fetch = plan_.fetch;
  evict.clear();
  fetch.clear();
  bool any = false;
  if (min_ != nullptr) {
    if (!plan_again_) return false;
    plan_again_ = false;
    PlanByMin(&evict, &fetch);
  } else if (queue_.empty() && !over) {
    if (!traced_ || trials_->TimedRuns(InstantOf(now_))) return false;
    if (counts_->barriers() == 0 && moves_.empty()) {
      idle_fetches_.Add(*residency_, trials_->heat(), Available(), InstantOf(now_), &fetch);
    }
    if (fetch.empty()) return false;
  } else {
    if (!plan_again_) return false;
    plan_again_ = false;
    if (trials_->TimedRuns(InstantOf(now_))) plan_again_ = true;
    const Room room{.budget = setting_.device_memory,
                    .used = used_,
                    .available = Available(),
                    .moving_in = moving_in_,
                    .moving_out = moving_out_};
    const bool more = plan_maker_->Make(room, ConditionsNow(), &plan_);
    plan_again_ |= more;
    any = more && evict.empty() && fetch.empty();
  }
  const Bytes pipeline = Pipeline();
  for (const ChunkIndex index : evict) {
    if (moving_out_ < pipeline && StartEvict(index)) {
      any = true;
    } else if (min_ != nullptr) {
      droppable_.push_back(index);
    }
  }
  if (!evict.empty() || !fetch.empty()) owed_ += Nanoseconds(prices_.per_plan);
  fetches_.assign(fetch.begin(), fetch.end());
  // The bound's schedule asks for each but once.
  fetches_until_ = min_ == nullptr ? now_ + kRemapTimeNs : kNever;
  any |= StartFetches();
  // A plan that was carried out has nothing to add to itself, unless it was cut short.
  plan_again_ |= any && (evict.size() >= kMovesAtOnce || fetch.size() >= kMovesAtOnce);
  return any;
}

void SimulatedMover::PlanByMin(std::vector<ChunkIndex>* evict, std::vector<ChunkIndex>* fetch) {
  if (counts_->barriers() != 0) return;
  ActiveWork* const head = queue_.empty() ? nullptr : Own(queue_.front());
  const bool barrier = traced_ && setting_.overlap == ReplayOverlap::kOff;
  if (barrier && (head == nullptr || readiness_->HasItsMemory(*head, ConditionsNow()))) return;
  const uint32_t first = head != nullptr ? head->work : submitted_;
  min_cursor_ = std::max(min_cursor_, first);
  Bytes room = Available() + moving_out_;
  Bytes in = moving_in_, out = moving_out_;
  // Room from what the schedule drops, as it is needed.
  const auto make_room = [&](Bytes size, bool for_head) {
    size_t left = droppable_.size();
    while (room < size && left-- != 0 && out < Pipeline()) {
      const ChunkIndex index = droppable_.front();
      droppable_.pop_front();
      const Chunk& c = At(index);
      if (!residency_->Movable(c) || !c.on_device || Moving(c) || FactsOf(index).keeps ||
          absl::c_linear_search(*evict, index)) {
        continue;
      }
      if (c.in_flight != 0) {
        droppable_.push_back(index);
        continue;
      }
      evict->push_back(index);
      room += c.size();
      out += c.size();
    }
    while (for_head && room < size && out < Pipeline()) {
      const ChunkIndex index = NeededLast(first, *evict);
      if (!index) break;
      evict->push_back(index);
      room += At(index).size();
      out += At(index).size();
      min_cursor_ = std::min(min_cursor_, FactsOf(index).next_use);
    }
    return room >= size;
  };
  // False: no more can be brought.
  const auto bring = [&](absl::Span<const ChunkIndex> wanted, bool* lacks) {
    for (const ChunkIndex index : wanted) {
      Chunk& c = At(index);
      if (!residency_->Movable(c) || c.on_device || Moving(c)) continue;
      if (lacks != nullptr) *lacks = true;
      if (c.in_flight != 0 || absl::c_linear_search(*fetch, index)) continue;
      if (in >= Pipeline() || !make_room(c.size(), lacks != nullptr)) return false;
      room -= c.size();
      in += c.size();
      FactsOf(index).keeps = true;
      fetch->push_back(index);
    }
    return true;
  };
  bool lacks = false;
  const bool all = head == nullptr || head->run_in_place || bring(head->wanted, &lacks);
  if (head != nullptr && lacks && fetch->empty() && evict->empty() && moves_.empty() &&
      in_flight_ == 0) {
    head->run_in_place = true;
    plan_again_ = true;
  }
  if (!all) return;
  for (; min_cursor_ < run_.works.size() && min_cursor_ < first + kMinAhead; ++min_cursor_) {
    if (min_wanted_for_ != min_cursor_) {
      const absl::Span<const ChunkIndex> chunks = chunks_.chunks(run_.works[min_cursor_].set);
      min_wanted_for_ = min_cursor_;
      min_wanted_.clear();
      for (size_t i = 0; i < chunks.size(); ++i) {
        if (min_->Keeps(min_cursor_, i) || !MinServes(min_cursor_, chunks[i])) {
          min_wanted_.push_back(chunks[i]);
        }
      }
    }
    if (!bring(min_wanted_, nullptr)) return;
  }
}

ChunkIndex SimulatedMover::NeededLast(uint32_t work, absl::Span<const ChunkIndex> but) const {
  ChunkIndex last;
  for (uint32_t i = 1; i < chunk_->end(); ++i) {
    const Chunk& c = At(ChunkIndex(i));
    if (!residency_->Movable(c) || !c.on_device || Moving(c) || c.in_flight != 0) continue;
    const uint32_t next_use = facts_[i].next_use;
    if (next_use <= work || (last && next_use <= FactsOf(last).next_use)) continue;
    if (!absl::c_linear_search(but, ChunkIndex(i))) last = ChunkIndex(i);
  }
  return last;
}

bool SimulatedMover::StartEvict(ChunkIndex index) {
  Chunk& c = At(index);
  if (!residency_->MayLeave(c) || counts_->barriers() != 0) return false;
  MarkChanged(index);
  Move move{.chunk = index, .tag = next_tag_++};
  const HostCopies::Leaving leaving = host_copies_->Leaves(index, prints_ || DeviceIdle());
  move.clean = leaving.clean;
  // What was not written is as its fingerprint says, and what was is not.
  const ChunkFacts& facts = FactsOf(index);
  const bool equal =
      leaving.expected && (!facts.written || facts.unwritten || facts.came > facts.unwritten_from);
  c.Transition(ChunkState::kMoving);
  moving_out_ += c.size();
  move.clean |= equal;
  move.copied = move.clean;
  copied_ += move.copied;
  if (!move.clean) {
    const uint64_t made = HostMemoryFor(index);
    if (made == 0 && waiting_.empty()) {
      link_.Start(/*in=*/false, c.size(), move.tag);
    } else {
      host_made_ = std::max(host_made_, now_) + made;
      waiting_.push_back({host_made_, c.size(), move.tag});
    }
  }
  moves_.push_back(move);
  return true;
}

bool SimulatedMover::StartFetches() {
  bool any = false;
  while (call_ == Call::kNone && !fetches_.empty()) {
    if (now_ > fetches_until_ || moving_in_ >= Pipeline() || !StartFetch(fetches_.front())) {
      plan_again_ |= now_ > fetches_until_;
      fetches_.clear();
      break;
    }
    fetches_.pop_front();
    any = true;
  }
  return any;
}

bool SimulatedMover::StartFetch(ChunkIndex index) {
  Chunk& c = At(index);
  if (!residency_->MayCome(c) || counts_->barriers() != 0 || c.size() > Available()) return false;
  MarkChanged(index);
  Move move{.chunk = index, .in = true, .tag = next_tag_++};
  move.print = host_copies_->WorthAPrint(index) && (prints_ || DeviceIdle());
  c.Transition(ChunkState::kMoving);
  c.device_slot = 0;
  used_ += c.size();
  moving_in_ += c.size();
  move.ahead = c.unmapped;
  double calls =
      SlowerCalls() * slots_.Take(c.log2_size, !move.ahead, Available(), &FactsOf(index).alias);
  if (move.ahead) {
    const MapCosts& device = prices_.device[c.log2_size - kMinChunkLog2];
    calls += SlowerCalls() * (device.map + device.access);
  }
  moves_.push_back(move);
  owed_ += Nanoseconds(prices_.per_fetch);
  if (calls == 0) {
    link_.Start(/*in=*/true, c.size(), move.tag);
    return true;
  }
  Begin(Call::kFetch, Nanoseconds(calls), /*gives_access=*/true);
  call_move_ = move;
  return true;
}

void SimulatedMover::Begin(Call call, uint64_t nanoseconds, bool gives_access) {
  call_ = call;
  call_end_ = now_ + nanoseconds + std::exchange(owed_, 0);
  if (gives_access) call_end_ = std::max(call_end_, link_.PieceEnd());
}

bool SimulatedMover::BeginRemap() {
  if (trials_ && trials_->TimedRuns(InstantOf(now_))) return false;
  if (copied_ != 0) {
    const auto copied = absl::c_find_if(moves_, [](const Move& m) { return m.copied; });
    call_move_ = *copied;
    call_hides_ =
        !copied->in && unmapped_chunks_->MayStayUnmapped(copied->chunk, unmapped_, InstantOf(now_));
    Begin(Call::kRemap, RemapTime(*copied, call_hides_));
    return true;
  }
  if (unmapped_ == 0) {
    unmapped_chunks_->AllMapped();
    mapping_.clear();
    return false;
  }
  if (mapping_.empty()) {
    const bool idle = queue_.empty() && active_ == 0;
    const std::vector<ChunkIndex> wanted =
        unmapped_chunks_->Take(InstantOf(idle ? last_progress_ : now_), InstantOf(now_));
    mapping_.assign(wanted.begin(), wanted.end());
  }
  while (!mapping_.empty() && (!At(mapping_.front()).unmapped || Moving(At(mapping_.front())))) {
    mapping_.pop_front();
  }
  if (mapping_.empty()) return false;
  const ChunkIndex show = mapping_.front();
  mapping_.pop_front();
  MarkChanged(show);
  At(show).Transition(ChunkState::kMoving);
  call_shows_ = show;
  const MapCosts& host = prices_.host[At(show).log2_size - kMinChunkLog2];
  Begin(Call::kMapOnHost, Nanoseconds(SlowerCalls() * (host.map + host.access)),
        /*gives_access=*/true);
  return true;
}

double SimulatedMover::SlowerCalls() const {
  return 1 + prices_.beside * ((in_flight_ != 0) + link_.copies_in() + link_.copies_out());
}

uint64_t SimulatedMover::RemapTime(const Move& move, bool hide) const {
  if (move.ahead) return Nanoseconds(prices_.per_move);
  const Chunk& c = At(move.chunk);
  const MapCosts& device = prices_.device[c.log2_size - kMinChunkLog2];
  const MapCosts& host = prices_.host[c.log2_size - kMinChunkLog2];
  const MapCosts& to = move.in ? device : host;
  const double unmap = move.in ? (c.unmapped ? 0 : host.unmap) : device.unmap;
  const double slower = SlowerCalls();
  const double before = 1e3 * (prices_.per_move + slower * (unmap + (hide ? 0 : to.map)));
  uint64_t end = now_ + static_cast<uint64_t>(before);
  if (!hide) {
    // To give access waits for the piece that is on its way out.
    end += static_cast<uint64_t>(1e3 * slower * to.access);
    end = std::max(end, link_.PieceEnd());
  }
  return end - now_;
}

std::deque<SimulatedMover::Move>::iterator SimulatedMover::FindMove(uint64_t tag) {
  const auto it = absl::c_lower_bound(
      moves_, tag, [](const Move& move, uint64_t wanted) { return move.tag < wanted; });
  VS_CHECK(it != moves_.end() && it->tag == tag);
  return it;
}

void SimulatedMover::EndRemap() {
  const Call call = std::exchange(call_, Call::kNone);
  if (call == Call::kFetch) {
    link_.Start(/*in=*/true, At(call_move_.chunk).size(), call_move_.tag);
    return;
  }
  if (call == Call::kMapOnHost) {
    Chunk& c = At(call_shows_);
    MarkChanged(call_shows_);
    c.Transition(ChunkState::kHost);
    c.unmapped = false;
    --unmapped_;
    Reclaim(call_shows_);
    return;
  }
  moves_.erase(FindMove(call_move_.tag));
  --copied_;
  CompleteMove(call_move_);
}

void SimulatedMover::CompleteMove(const Move& move) {
  Chunk& c = At(move.chunk);
  MarkChanged(move.chunk);
  c.on_device = move.in;
  if (setting_.moves) result_.moves.push_back({now_, move.chunk, move.in, move.clean});
  if (c.unmapped) {
    c.unmapped = false;
    --unmapped_;
  }
  if (move.in) {
    moving_in_ -= c.size();
    // Which print it is does not matter: the record says whether it is still the same.
    std::optional<Fingerprint> print;
    if (move.print) print.emplace();
    host_copies_->Came(
        move.chunk,
        {.barrier_held = queue_.barriers() != 0, .host_has_room = true, .print = print});
    c.unused = true;
    FactsOf(move.chunk).came = let_go_;
    FactsOf(move.chunk).written = false;
    if (policy_ != nullptr) policy_->OnInsert(move.chunk);
    ++result_.moves_in;
    result_.bytes_in += c.size();
    recorder_->Came(now_, move.chunk, /*fetched=*/true);
  } else {
    moving_out_ -= c.size();
    used_ -= c.size();
    slots_.Give(c.log2_size, FactsOf(move.chunk).alias);
    c.device_slot = kNoSlot;
    host_copies_->Left(move.chunk, move.clean, std::nullopt);
    c.unused = FactsOf(move.chunk).keeps = false;
    if (call_hides_) {
      c.unmapped = true;
      ++unmapped_;
    }
    if (policy_ != nullptr) policy_->OnRemove(move.chunk);
    ++result_.moves_out;
    if (!move.clean) result_.bytes_out += c.size();
    recorder_->Left(now_, move.chunk);
  }
  plan_again_ = true;
  idle_fetches_.LookAgain();
  Reclaim(move.chunk);
}

}  // namespace vramspan::replay
