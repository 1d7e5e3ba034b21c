#include "runtime/mover/work_pool.h"

#include <absl/algorithm/container.h>
#include <absl/cleanup/cleanup.h>

#include <algorithm>
#include <utility>

#include "runtime/scheduler/sequence.h"
#include "runtime/scheduler/untouched_chunks.h"

namespace vramspan {

StreamWork* WorkPool::New() {
  if (spare_.empty()) {
    works_.push_back(std::make_unique<StreamWork>());
    spare_.push_back(works_.back().get());
  }
  StreamWork* work = spare_.back();
  spare_.pop_back();
  work->Renew();
  work->id = next_++;
  return work;
}

void WorkPool::Recycle(StreamWork* work) {
  if (std::exchange(work->counted, false)) --counted_;
  spare_.push_back(work);
}

bool WorkPool::CountIn(StreamWork* work) {
  if (full()) return false;
  ++counted_;
  work->counted = true;
  return true;
}

void WorkPool::Add(ChunkIndex index, const Chunk& c, const WorkRange& range, StreamWork* work) {
  Use use = range.use;
  const bool begins = range.ptr >= c.base && range.ptr < c.base + c.size();
  use.guessed = use.guessed && (use.possible || !begins);
  const DevicePtr from = std::max(range.ptr, c.base);
  const DevicePtr end = c.base + c.size(), last = range.ptr + range.size;
  const DevicePtr to = last < range.ptr ? end : std::min(last, end);  // A size may be absurd.
  use.part = NamedPart::Of(to - from);
  if (index.value >= marks_.size()) marks_.resize(index.value * 2 + 64, 0);
  uint32_t& mark = marks_[index.value];
  if (mark < mark_base_) {
    mark = mark_base_ + static_cast<uint32_t>(work->all.size());
    work->all.push_back({index, use});
  } else {
    work->all[mark - mark_base_].how.Add(use);
  }
}

void WorkPool::Collect(absl::Span<const WorkRange> ranges, StreamWork* work) {
  CollectAll(ranges, work);
  untouched_.Find(work->all, ChunkOf(), &neighbours_);
  LeaveOutUntouched(neighbours_, work);
}

void WorkPool::CollectAll(absl::Span<const WorkRange> ranges, StreamWork* work) {
  if (mark_base_ > 0xf0000000u) {
    std::fill(marks_.begin(), marks_.end(), 0);
    mark_base_ = 1;
  }
  // One more: an exception may come between a mark and its place.
  const auto next =
      absl::MakeCleanup([&] { mark_base_ += static_cast<uint32_t>(work->all.size()) + 1; });
  for (const WorkRange& range : ranges) {
    memory_.ForEachChunk(range.ptr, range.size,
                         [&](ChunkIndex index, Chunk& c) { Add(index, c, range, work); });
  }
  const auto [likely, possible] = Sort(&work->all);
  Split(likely, possible, work);
}

void WorkPool::LeaveOutUntouched(const std::vector<Neighbours>& neighbours, StreamWork* work) {
  const size_t likely = work->uses.size(), before = work->all.size();
  const size_t possible =
      untouched_.LeaveOut(likely, work->possible.size(), neighbours, ChunkOf(), &work->all);
  if (work->all.size() != before) Split(likely, possible, work);
}

void WorkPool::Collect(absl::Span<const WorkRange> ranges, KeptUses* kept, StreamWork* work) {
  const uint64_t allocations = memory_.allocations_state();
  if (kept->allocations == allocations) {
    work->all.assign(kept->all.begin(), kept->all.end());
    Split(kept->likely, kept->possible, work);
    LeaveOutUntouched(kept->neighbours, work);
    return;
  }
  CollectAll(ranges, work);
  kept->hash = Sequence::HashOf(work->uses);
  kept->all.assign(work->all.begin(), work->all.end());
  kept->likely = work->uses.size();
  kept->possible = work->possible.size();
  untouched_.Find(work->all, ChunkOf(), &kept->neighbours);
  kept->allocations = allocations;  // Last: there may be no memory for the rest.
  LeaveOutUntouched(kept->neighbours, work);
}

std::pair<size_t, size_t> WorkPool::Sort(std::vector<ChunkUse>* uses) {
  std::vector<ChunkUse>& all = *uses;
  // Those that are `first` come first, from `begin` on, in the order that they have. How many.
  const auto to_front = [&](size_t begin, auto first) {
    size_t end = begin;
    for (size_t i = begin; i < all.size(); ++i) {
      if (first(all[i].how)) std::swap(all[i], all[end++]);
    }
    return end - begin;
  };
  const size_t likely = to_front(0, [](const Use& use) { return !use.possible; });
  const size_t possible = to_front(likely, [](const Use& use) { return !use.mapped_only; });
  return {likely, possible};
}

void WorkPool::Split(size_t likely, size_t possible, StreamWork* work) {
  const absl::Span<const ChunkUse> uses = work->all;
  work->uses = uses.first(likely);
  work->possible = uses.subspan(likely, possible);
  work->mapped_only = uses.subspan(likely + possible);
  if (absl::c_any_of(work->uses, [](const ChunkUse& use) { return use.how.once; })) {
    work->ServeOnce();
  }
}

}  // namespace vramspan
