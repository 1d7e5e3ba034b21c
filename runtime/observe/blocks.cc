#include "runtime/observe/blocks.h"

#include <algorithm>
#include <iterator>

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

// Calls it with the number of each granule, and how many bytes of the range lie there.
template <typename Call>
void ForEachGranule(DevicePtr p, Bytes size, Call call) {
  const uint64_t end = p.value + size.value;
  for (uint64_t at = p.value; at < end;) {
    const uint64_t next = std::min(end, (at / kGranule + 1) * kGranule);
    call(at / kGranule, static_cast<uint32_t>(next - at));
    at = next;
  }
}

}  // namespace

void Blocks::HandedOut(DevicePtr p, Bytes size, bool captured) {
  if (!IsRange(p, size)) return;
  MutexLock change(changing_);
  any_.store(true, std::memory_order_relaxed);
  KeepCaptured();
  bool kept = false;
  ForEachGranule(p, size, [&](uint64_t number, uint32_t bytes) VS_NO_THREAD_SAFETY_ANALYSIS {
    Granule& granule = granules_[number];
    granule.used += std::min(bytes, UINT32_MAX - granule.used);
    granule.kept |= captured;
    kept |= granule.kept;
  });
  MutexLock lock(mu_);
  // What others were told of the same place is old.
  auto it = by_base_.lower_bound(p.value);
  if (it != by_base_.begin()) {
    const auto before = std::prev(it);
    if (p.value - before->first < before->second.value) it = by_base_.erase(before);
  }
  while (it != by_base_.end() && it->first < p.value + size.value) it = by_base_.erase(it);
  // A graph may reach farther from there.
  if (!kept) by_base_.emplace_hint(it, p.value, size);
}

void Blocks::CameBack(DevicePtr p, Bytes size, bool captured, bool told) {
  if (!IsRange(p, size)) return;
  MutexLock change(changing_);
  KeepCaptured();
  // Another block than was handed out: then nobody knows what is in use there.
  const bool known = Forget({p, size});
  ForEachGranule(p, size, [&](uint64_t number, uint32_t bytes) VS_NO_THREAD_SAFETY_ANALYSIS {
    Granule& granule = granules_[number];
    granule.used -= std::min(bytes, granule.used);
    granule.kept |= captured || !known;
    granule.thread = ThreadNumber::Mine();
    granule.submissions = submissions_;
  });
  if (captured || !known || !told) return;
  if (returned_.size() >= kMostThreads) returned_.clear();
  Returned& mine = returned_[ThreadNumber::Mine()];
  if (mine.submissions != submissions_) mine.blocks.clear();
  mine.submissions = submissions_;
  if (mine.blocks.size() < kMostReturned) mine.blocks.push_back({p, size});
}

void Blocks::KeepCaptured() {
  const uint64_t begun = CapturesBegun();
  if (begun == captures_seen_) return;
  captures_seen_ = begun;
  for (auto& [number, granule] : granules_) granule.kept |= granule.used != 0;
}

bool Blocks::Forget(const Block& block) {
  MutexLock lock(mu_);
  const auto it = by_base_.find(block.base.value);
  if (it == by_base_.end() || it->second != block.size) return false;
  by_base_.erase(it);
  return true;
}

void Blocks::TellUnused(absl::FunctionRef<void(DevicePtr, Bytes)> unused) {
  MutexLock change(changing_);
  KeepCaptured();
  const auto mine = returned_.find(ThreadNumber::Mine());
  if (mine == returned_.end() || mine->second.submissions == submissions_) return;
  std::vector<Block> told;
  for (const Block& block : mine->second.blocks) AddUnused(block, &told);
  mine->second.blocks.clear();
  for (const Block& block : told) unused(block.base, block.size);
}

bool Blocks::IsUnused(uint64_t granule) const {
  const auto it = granules_.find(granule);
  if (it == granules_.end() || it->second.used != 0 || it->second.kept) return false;
  return it->second.thread == ThreadNumber::Mine() && it->second.submissions != submissions_;
}

void Blocks::AddUnused(const Block& block, std::vector<Block>* unused) const {
  const uint64_t first = block.base.value / kGranule;
  const uint64_t last = (block.base.value + block.size.value - 1) / kGranule;
  const uint64_t least = first - std::min(first, kReach), most = last + 1 + kReach;
  for (uint64_t i = first; i <= last; ++i) {
    if (!IsUnused(i)) continue;
    uint64_t begin = i, end = i + 1;
    while (i == first && begin > least && IsUnused(begin - 1)) --begin;
    while (end < most && IsUnused(end)) ++end;
    unused->push_back({DevicePtr(begin * kGranule), Bytes((end - begin) * kGranule)});
    i = end;
  }
}

void Blocks::Gone(DevicePtr p, Bytes size, bool unmapped) {
  if (!IsRange(p, size)) return;
  MutexLock change(changing_);
  if (granules_.empty()) return;
  for (auto& [thread, returned] : returned_) {
    std::erase_if(returned.blocks,
                  [&](const Block& block) { return block.base >= p && block.base < p + size; });
  }
  const uint64_t first = p.value / kGranule, last = (p.value + size.value - 1) / kGranule;
  const auto gone = [&](Granule* granule) {
    granule->kept = granule->used != 0;
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
  MutexLock lock(mu_);
  auto begin = by_base_.lower_bound(p.value);
  if (begin != by_base_.begin()) {
    const auto before = std::prev(begin);
    if (p.value - before->first < before->second.value) begin = before;
  }
  by_base_.erase(begin, by_base_.lower_bound(p.value + size.value));
}

Blocks::Block Blocks::Look(DevicePtr p) {
  MutexLock lock(mu_);
  const auto it = by_base_.upper_bound(p.value);
  if (it == by_base_.begin()) return {};
  const auto& [base, size] = *std::prev(it);
  if (p.value - base >= size.value) return {};
  return {DevicePtr(base), size};
}

}  // namespace vramspan
