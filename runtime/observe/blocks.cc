#include "runtime/observe/blocks.h"

#include <absl/cleanup/cleanup.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/base/thread_number.h"
#include "runtime/observe/captures.h"

namespace vramspan {
namespace {

constexpr uint64_t kGranule = kGranularity.value;
// In granules: so far a chunk may go on beyond one that lies in it.
constexpr uint64_t kReach = ChunkBytes(kMaxChunkLog2).value / kGranule;

// Addresses end far below: a size that leads beyond is nobody's.
constexpr uint64_t kLastAddress = uint64_t{1} << 56;

bool IsRange(DevicePtr p, Bytes size) {
  return size != Bytes(0) && p.value < kLastAddress && size.value < kLastAddress - p.value;
}

// What is said to have more is none: all of its granules would take minutes, and all memory.
constexpr Bytes kMostOfBlock = GiB(1024);

bool IsBlock(DevicePtr p, Bytes size) { return IsRange(p, size) && size <= kMostOfBlock; }

// Calls it with the number of each granule, and from where to where in it the range goes.
template <typename Call>
void ForEachGranule(DevicePtr p, Bytes size, Call call) {
  const uint64_t end = p.value + size.value;
  for (uint64_t at = p.value; at < end;) {
    const uint64_t begin = at / kGranule * kGranule;
    const uint64_t next = std::min(end, begin + kGranule);
    call(at / kGranule, static_cast<uint32_t>(at - begin), static_cast<uint32_t>(next - begin));
    at = next;
  }
}

}  // namespace

void Blocks::Granule::Cover(uint32_t begin, uint32_t end, uint64_t others) {
  if (since != others) from = to = 0;
  since = others;
  if (begin <= to && from <= end && from != to) {
    from = std::min(from, begin);
    to = std::max(to, end);
  } else if (end - begin > to - from) {
    from = begin;
    to = end;
  }
}

void Blocks::HandedOut(DevicePtr p, Bytes size, bool captured) {
  MutexLock change(changing_);
  any_.store(true, std::memory_order_relaxed);
  MutexLock lock(mu_);
  auto lost = absl::MakeCleanup([&]() VS_NO_THREAD_SAFETY_ANALYSIS { lost_count_ = true; });
  if (!IsBlock(p, size)) return;
  KeepCaptured();
  bool kept = false;
  ForEachGranule(p, size,
                 [&](uint64_t number, uint32_t begin, uint32_t end) VS_NO_THREAD_SAFETY_ANALYSIS {
                   Granule& granule = granules_[number];
                   granule.used += std::min(end - begin, UINT32_MAX - granule.used);
                   granule.Cover(begin, end, others_came_);
                   granule.kept |= captured;
                   granule.past = false;
                   kept |= granule.kept;
                 });
  Enter({p, size}, kept);
  std::move(lost).Cancel();
}

void Blocks::Enter(const Block& block, bool kept) {
  // What others were told of the same place is old.
  const uint64_t base = block.base.value;
  auto it = by_base_.lower_bound(base);
  if (it != by_base_.begin()) {
    const auto before = std::prev(it);
    if (base - before->first < before->second.size.value) it = Erase(before);
  }
  while (it != by_base_.end() && it->first < base + block.size.value) it = Erase(it);
  by_base_.emplace_hint(it, base, Known{block.size, kept});
  in_use_.Add(BlocksInUse::KeyOf(block.base, block.size));
}

Blocks::ByBase::iterator Blocks::Erase(ByBase::iterator it) {
  in_use_.Remove(BlocksInUse::KeyOf(DevicePtr(it->first), it->second.size));
  return by_base_.erase(it);
}

void Blocks::CameBack(DevicePtr p, Bytes size, bool captured, Watch watch) {
  if (!IsBlock(p, size)) return;
  MutexLock change(changing_);
  MutexLock lock(mu_);
  auto lost = absl::MakeCleanup([&]() VS_NO_THREAD_SAFETY_ANALYSIS { lost_count_ = true; });
  KeepCaptured();
  // Another block than was handed out: then nobody knows what is in use there.
  const bool known = Forget({p, size});
  // Who had what came back before was not seen without a break.
  if (std::exchange(watch_, watch) != watch) ++others_came_;
  const uint64_t thread = ThreadNumber::Mine();
  ++now_;
  ForEachGranule(p, size,
                 [&](uint64_t number, uint32_t begin, uint32_t end) VS_NO_THREAD_SAFETY_ANALYSIS {
                   Granule& granule = granules_[number];
                   granule.used -= std::min(end - begin, granule.used);
                   // Since it was handed out others may have had the rest.
                   granule.Cover(begin, end, others_came_);
                   granule.kept |= captured || !known;
                   granule.thread = thread;
                   granule.submissions = submissions_;
                   granule.watch = watch;
                   granule.came = now_;
                 });
  std::move(lost).Cancel();
  if (captured || !known || watch == 0) return;
  if (returned_.size() >= kMostThreads) returned_.clear();
  Returned& mine = returned_[thread];
  if (mine.submissions != submissions_ || mine.watch != watch) mine.blocks.clear();
  mine.submissions = submissions_;
  mine.watch = watch;
  if (mine.blocks.size() < kMostReturned) mine.blocks.push_back({p, size});
}

void Blocks::KeepCaptured() {
  const uint64_t begun = CapturesBegun();
  if (begun == captures_seen_) return;
  captures_seen_ = begun;
  for (auto& [number, granule] : granules_) granule.kept |= granule.used != 0;
}

bool Blocks::Forget(const Block& block) {
  const auto it = by_base_.find(block.base.value);
  if (it == by_base_.end() || it->second.size != block.size) return false;
  Erase(it);
  return true;
}

void Blocks::TellUnused(Watch watch, absl::FunctionRef<void(DevicePtr, Bytes)> unused) {
  MutexLock change(changing_);
  std::vector<Block> told;
  {
    MutexLock lock(mu_);
    KeepCaptured();
    const auto mine = returned_.find(ThreadNumber::Mine());
    if (mine == returned_.end() || mine->second.submissions == submissions_) return;
    if (mine->second.watch == watch) {
      for (const Block& block : mine->second.blocks) AddUnused(block, watch, &told);
    }
    mine->second.blocks.clear();
    told_ |= !told.empty();
  }
  for (const Block& block : told) unused(block.base, block.size);
}

void Blocks::OnlyReported(DevicePtr allocation) {
  any_only_reported_.store(true, std::memory_order_relaxed);
  MutexLock lock(mu_);
  only_reported_.insert(allocation.value);
}

bool Blocks::IsNobodys(DevicePtr allocation, DevicePtr p, Bytes size) {
  MutexLock lock(mu_);
  if (only_reported_.contains(allocation.value)) {
    ForEachGranule(p, size, [&](uint64_t number, uint32_t, uint32_t) VS_NO_THREAD_SAFETY_ANALYSIS {
      const auto it = granules_.find(number);
      if (it != granules_.end()) it->second.past = true;
    });
    return true;
  }
  const auto [others, first] = others_.try_emplace(allocation.value, now_);
  if (first) {
    // Nobody looked who had any of it until now.
    ++others_came_;
    watched_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  const uint64_t since = std::max(others->second, any_others_);
  bool nobodys = true;
  ForEachGranule(p, size, [&](uint64_t number, uint32_t, uint32_t) VS_NO_THREAD_SAFETY_ANALYSIS {
    const auto it = granules_.find(number);
    nobodys &= it != granules_.end() && it->second.came > since;
  });
  return nobodys;
}

bool Blocks::IsUnused(uint64_t granule, Watch watch) const {
  const auto it = granules_.find(granule);
  if (it == granules_.end() || it->second.used != 0 || it->second.kept || lost_count_) return false;
  if (it->second.from != 0 || it->second.to != kGranule) return false;
  return it->second.thread == ThreadNumber::Mine() && it->second.submissions != submissions_ &&
         it->second.watch == watch;
}

void Blocks::AddUnused(const Block& block, Watch watch, std::vector<Block>* unused) const {
  const uint64_t first = block.base.value / kGranule;
  const uint64_t last = (block.base.value + block.size.value - 1) / kGranule;
  const uint64_t least = first - std::min(first, kReach), most = last + 1 + kReach;
  for (uint64_t i = first; i <= last; ++i) {
    if (!IsUnused(i, watch)) continue;
    uint64_t begin = i, end = i + 1;
    while (i == first && begin > least && IsUnused(begin - 1, watch)) --begin;
    while (end < most && IsUnused(end, watch)) ++end;
    unused->push_back({DevicePtr(begin * kGranule), Bytes((end - begin) * kGranule)});
    i = end;
  }
}

void Blocks::Gone(DevicePtr p, Bytes size, bool unmapped) {
  if (!IsRange(p, size)) return;
  if (!any_.load(std::memory_order_relaxed)) {
    if (!any_only_reported_.load(std::memory_order_relaxed)) return;
    MutexLock lock(mu_);
    only_reported_.erase(p.value);
    return;
  }
  MutexLock change(changing_);
  MutexLock lock(mu_);
  for (auto& [thread, returned] : returned_) {
    std::erase_if(returned.blocks,
                  [&](const Block& block) { return block.base >= p && block.base < p + size; });
  }
  const uint64_t first = p.value / kGranule, last = (p.value + size.value - 1) / kGranule;
  const auto gone = [&](Granule* granule) {
    granule->kept |= granule->used != 0;
    return !unmapped || !granule->kept;
  };
  // Whichever are fewer.
  if (last - first < granules_.size()) {
    for (uint64_t i = first; i <= last; ++i) {
      const auto it = granules_.find(i);
      if (it != granules_.end() && gone(&it->second)) granules_.erase(it);
    }
  } else {
    absl::erase_if(granules_, [&](auto& entry) {
      return entry.first >= first && entry.first <= last && gone(&entry.second);
    });
  }
  auto begin = by_base_.lower_bound(p.value);
  if (begin != by_base_.begin()) {
    const auto before = std::prev(begin);
    if (p.value - before->first < before->second.size.value) begin = before;
  }
  while (begin != by_base_.end() && begin->first < p.value + size.value) begin = Erase(begin);
  // It begins at `p`, or it is one of mappings, each of which is watched by itself.
  others_.erase(p.value);
  only_reported_.erase(p.value);
}

Blocks::Block Blocks::Look(DevicePtr allocation, DevicePtr p, By by) {
  MutexLock lock(mu_);
  const bool only_reported = only_reported_.contains(allocation.value);
  const auto it = by_base_.upper_bound(p.value);
  if (it != by_base_.begin()) {
    const auto& [base, known] = *std::prev(it);
    if (p.value - base < known.size.value) {
      Block block = known.kept ? Block{} : Block{DevicePtr(base), known.size};
      if (only_reported || others_.contains(allocation.value)) {
        block.key = BlocksInUse::KeyOf(DevicePtr(base), known.size);
      }
      return block;
    }
  }
  if (by == By::kNobody) return {};
  const auto granule = granules_.find(p.value / kGranule);
  if (only_reported) {
    const bool past = !lost_count_ && granule != granules_.end() && granule->second.past;
    return {.none = true, .past = past};
  }
  if (!others_.contains(allocation.value)) return {};
  // What it keeps is no block any more, and the graph's.
  const bool own = by == By::kGraph && granule != granules_.end() && granule->second.kept;
  return {.other = !own};
}

void Blocks::OthersHave(DevicePtr allocation, absl::FunctionRef<void()> own) {
  MutexLock change(changing_);
  {
    MutexLock lock(mu_);
    const auto others = others_.find(allocation.value);
    if (others != others_.end()) others->second = now_;
    ++others_came_;
  }
  own();
}

void Blocks::OthersMayHaveAny(absl::FunctionRef<void()> own) {
  if (!any_.load(std::memory_order_relaxed)) return;
  MutexLock change(changing_);
  {
    MutexLock lock(mu_);
    any_others_ = now_;
    ++others_came_;
    if (!std::exchange(told_, false)) return;
  }
  own();
}

}  // namespace vramspan
