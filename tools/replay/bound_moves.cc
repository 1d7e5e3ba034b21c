#include "tools/replay/bound_moves.h"

#include <absl/algorithm/container.h>

#include <algorithm>

#include "runtime/placement/move_limits.h"

namespace vramspan::replay {
namespace {

// The schedule is followed so far ahead of the queue.
constexpr uint32_t kAhead = 4096;

}  // namespace

Bytes BoundMoves::KeptOf(Bytes budget) {
  return budget - std::min(kFetchedAhead, Bytes(budget.value / kPipelineShare));
}

BoundMoves::BoundMoves(const ChunkedRun* chunks, const MinSchedule* schedule,
                       const ServedTime* served, VirtualMemory* memory, bool barriers)
    : chunks_(*chunks),
      schedule_(*schedule),
      served_(*served),
      memory_(*memory),
      barriers_(barriers),
      next_use_(chunks->end()),
      keeps_(chunks->end()) {}

void BoundMoves::Allocated(ChunkIndex chunk) {
  keeps_[chunk.value] = schedule_.KeepsFirst(chunk);
  next_use_[chunk.value] = schedule_.FirstUse(chunk);
  if (!keeps_[chunk.value]) droppable_.push_back(chunk);
}

bool BoundMoves::Serves(uint32_t work, ChunkIndex chunk) const {
  return served_.All(work, chunk) <= served_.Move(chunk);
}

void BoundMoves::Want(ActiveWork* a) const {
  a->wanted.in_place.resize(a->uses.size());
  for (size_t i = 0; i < a->uses.size(); ++i) {
    a->wanted.in_place[i] = !schedule_.Keeps(a->work, i) && Serves(a->work, a->uses[i].chunk);
  }
  a->WantTheRest();
}

void BoundMoves::Released(const ActiveWork& a) {
  for (size_t i = 0; i < a.uses.size(); ++i) {
    const ChunkIndex chunk = a.uses[i].chunk;
    keeps_[chunk.value] = schedule_.Keeps(a.work, i);
    next_use_[chunk.value] = schedule_.NextUse(a.work, i);
    if (!keeps_[chunk.value]) droppable_.push_back(chunk);
  }
}

ChunkIndex BoundMoves::NeededLast(const Open& open) const {
  ChunkIndex last;
  for (uint32_t i = 1; i < chunks_.end(); ++i) {
    if (!open.scheduler.residency().MayLeave(memory_[ChunkIndex(i)])) continue;
    if (next_use_[i] <= open.first || (last && next_use_[i] <= next_use_[last.value])) continue;
    if (!absl::c_linear_search(open.plan->evict, ChunkIndex(i))) last = ChunkIndex(i);
  }
  return last;
}

bool BoundMoves::MakeRoom(Open* open, Bytes size, bool for_head) {
  const auto evict = [&](ChunkIndex chunk) {
    open->plan->evict.push_back(chunk);
    open->room += memory_[chunk].size();
    open->out += memory_[chunk].size();
  };
  const Residency& residency = open->scheduler.residency();
  size_t left = droppable_.size();
  while (open->room < size && left-- != 0 && open->out < open->pipeline) {
    const ChunkIndex chunk = droppable_.front();
    droppable_.pop_front();
    const Chunk& c = memory_[chunk];
    if (!residency.Movable(c) || !c.on_device || Residency::Moving(c) || keeps_[chunk.value] ||
        absl::c_linear_search(open->plan->evict, chunk)) {
      continue;
    }
    c.in_flight != 0 ? droppable_.push_back(chunk) : evict(chunk);
  }
  while (for_head && open->room < size && open->out < open->pipeline) {
    const ChunkIndex chunk = NeededLast(*open);
    if (!chunk) break;
    evict(chunk);
    cursor_ = std::min(cursor_, next_use_[chunk.value]);
  }
  return open->room >= size;
}

bool BoundMoves::Bring(Open* open, absl::Span<const ChunkIndex> wanted, bool* lacks) {
  for (const ChunkIndex chunk : wanted) {
    const Chunk& c = memory_[chunk];
    if (!open->scheduler.residency().Movable(c) || c.on_device || Residency::Moving(c)) continue;
    if (lacks != nullptr) *lacks = true;
    if (c.in_flight != 0 || absl::c_linear_search(open->plan->fetch, chunk)) continue;
    if (open->in >= open->pipeline || !MakeRoom(open, c.size(), lacks != nullptr)) return false;
    open->room -= c.size();
    open->in += c.size();
    keeps_[chunk.value] = true;
    open->plan->fetch.push_back(chunk);
  }
  return true;
}

bool BoundMoves::BringAhead(Open* open) {
  const uint32_t works = static_cast<uint32_t>(chunks_.run().works.size());
  for (; cursor_ < works && cursor_ < open->first + kAhead; ++cursor_) {
    if (wanted_for_ != cursor_) {
      const absl::Span<const ChunkIndex> chunks = chunks_.chunks(chunks_.run().works[cursor_].set);
      wanted_for_ = cursor_;
      wanted_.clear();
      for (size_t i = 0; i < chunks.size(); ++i) {
        if (schedule_.Keeps(cursor_, i) || !Serves(cursor_, chunks[i])) {
          wanted_.push_back(chunks[i]);
        }
      }
    }
    if (!Bring(open, wanted_, nullptr)) return false;
  }
  return true;
}

bool BoundMoves::Make(Scheduler* scheduler, const Room& room, const Conditions& at, Plan* plan) {
  if (scheduler->counts().barriers() != 0) return false;
  const WorkQueue& queue = scheduler->queue();
  Work* const head = queue.empty() ? nullptr : queue.front();
  if (barriers_ && (head == nullptr || scheduler->HasItsMemory(*head, at))) return false;
  Open open{.scheduler = *scheduler,
            .plan = plan,
            .first = head != nullptr ? static_cast<ActiveWork*>(head)->work : submitted_,
            .room = room.available + room.moving_out,
            .in = room.moving_in,
            .out = room.moving_out,
            .pipeline = PipelineBytes(room.budget)};
  cursor_ = std::max(cursor_, open.first);
  bool lacks = false;
  const bool all =
      head == nullptr || head->run_in_place || Bring(&open, head->wanted.chunks, &lacks);
  const bool in_place = head != nullptr && lacks && plan->fetch.empty() && plan->evict.empty() &&
                        !at.moving && !at.running;
  if (in_place) head->run_in_place = true;
  if (all) BringAhead(&open);
  return in_place;
}

}  // namespace vramspan::replay
