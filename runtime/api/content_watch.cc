#include "runtime/api/content_watch.h"

#include <absl/algorithm/container.h>
#include <absl/hash/hash.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "runtime/placement/move_limits.h"

namespace vramspan {
namespace {

constexpr size_t kMostFingerprints = 32;  // Behind one launch; the rest is due at the next.

uint64_t HashOf(absl::Span<const trace::TracedRange> ranges) {
  constexpr uint64_t kMix = 0x9e3779b97f4a7c15u;
  // One of addresses and one of sizes: neither waits for the other.
  uint64_t at = 0, size = 0;
  for (const trace::TracedRange& r : ranges) {
    at = (std::rotl(at, 23) ^ r.ptr.value) * kMix;
    size = (std::rotl(size, 23) ^ r.size.value) * kMix;
  }
  return absl::HashOf(at, size, ranges.size());
}

}  // namespace

StatusOr<std::unique_ptr<ContentWatch>> ContentWatch::Create(std::shared_ptr<const Driver> driver,
                                                             CUcontext context, Memory* memory,
                                                             Compared compared) {
  std::unique_ptr<ContentWatch> w(new ContentWatch(driver, context, memory, std::move(compared)));
  const ScopedContext current(*driver, context);
  VS_RETURN_IF_ERROR(current.status());
  VS_ASSIGN_OR_RETURN(w->fingerprints_, StreamFingerprints::Create(driver));
  return w;
}

ContentWatch::~ContentWatch() {
  const ScopedContext current(*driver_, context_);
  driver_->RecordBackgroundError(current.status());
  fingerprints_.reset();
}

ContentWatch::State& ContentWatch::StateOf(ChunkIndex index) {
  if (index.value >= states_.size()) states_.resize(index.value + index.value / 2 + 1);
  return states_[index.value];
}

void ContentWatch::Made(DevicePtr base, Bytes size) {
  MutexLock lock(memory_.mu);
  Begin(base, size, /*mapped=*/false);
}

void ContentWatch::Mapped(DevicePtr base, Bytes size) { Begin(base, size, /*mapped=*/true); }

void ContentWatch::Begin(DevicePtr base, Bytes size, bool mapped) {
  ++lives_;
  changes_.fetch_add(1, std::memory_order_relaxed);
  memory_.ForEachChunk(base, size, [&](ChunkIndex index, Chunk&) VS_NO_THREAD_SAFETY_ANALYSIS {
    StateOf(index) = {.life = lives_, .mapped = mapped};
  });
}

void ContentWatch::LetGo(const Print& p) {
  if (abandoned_) return;
  const State& s = StateOf(p.chunk);
  if (!s.mapped || s.life != p.life) return;
  --memory_.chunks()[p.chunk].mapped_only;
  memory_.chunks().NoteChange(p.chunk);
}

uint64_t ContentWatch::SettledMark(uint64_t hash) const {
  return absl::HashOf(hash, changes_.load(std::memory_order_relaxed)) | 1;
}

uint64_t ContentWatch::Due(absl::Span<const trace::TracedRange> ranges, uint64_t id) {
  const uint64_t hash = HashOf(ranges);
  // As of before the look: what changes meanwhile makes the mark void.
  const uint64_t mark = SettledMark(hash);
  std::atomic<uint64_t>& settled = settled_[hash >> (64 - kSettledBits)];
  if (settled.load(std::memory_order_relaxed) == mark) return 0;
  std::vector<Print> due;
  bool open = false;
  const auto look = [&](ChunkIndex index, Chunk& c) VS_NO_THREAD_SAFETY_ANALYSIS {
    if (c.size() < kWorthAFingerprint || c.allocation == 0) return;
    State& s = StateOf(index);
    if (s.taken == std::size(kBehind)) return;
    open = true;
    if (!c.on_device || std::exchange(s.touched, id) == id) return;
    if (++s.touches < kBehind[s.taken] || due.size() == kMostFingerprints) return;
    if (s.mapped && (c.dying || c.mapped_only == UINT16_MAX)) return;
    const std::optional<uint32_t> slot = fingerprints_->Take();
    if (!slot.has_value()) return;
    ++s.taken;
    if (s.mapped) {
      ++c.mapped_only;
      memory_.chunks().NoteChange(index);
    }
    fingerprints_->Ask(*slot);
    due.push_back({index, s.life, {c.base, c.size(), *slot}});
  };
  MutexLock lock(memory_.mu);
  if (abandoned_) return 0;
  for (const trace::TracedRange& r : ranges) {
    if (!r.possible) memory_.ForEachChunk(r.ptr, r.size, look);
  }
  if (!open) settled.store(mark, std::memory_order_relaxed);
  if (due.empty()) return 0;
  batches_[++numbers_] = {id, std::move(due)};
  return numbers_;
}

bool ContentWatch::Queue(uint64_t number, CUstream stream) {
  CUcontext current = nullptr;
  if ((*driver_)->CtxGetCurrent(&current) != CUDA_SUCCESS || current != context_) {
    Drop(number);
    return false;
  }
  std::vector<StreamFingerprints::Piece> pieces;
  {
    MutexLock lock(memory_.mu);
    for (const Print& p : batches_.at(number).prints) pieces.push_back(p.piece);
  }
  const Status status = fingerprints_->Queue(stream, pieces);
  if (status.ok()) return true;
  driver_->RecordBackgroundError(status);
  // Those that were queued may still write: their slots are lost.
  MutexLock lock(memory_.mu);
  const auto batch = batches_.extract(number);
  for (const Print& p : batch.mapped().prints) LetGo(p);
  return false;
}

void ContentWatch::Drop(uint64_t number) {
  MutexLock lock(memory_.mu);
  const auto batch = batches_.extract(number);
  for (const Print& p : batch.mapped().prints) {
    fingerprints_->Give(p.piece.slot);
    LetGo(p);
    State& s = StateOf(p.chunk);
    if (s.life == p.life) --s.taken;
  }
  changes_.fetch_add(1, std::memory_order_relaxed);
}

void ContentWatch::Done(uint64_t number) {
  MutexLock lock(memory_.mu);
  const auto batch = batches_.extract(number);
  const uint64_t id = batch.mapped().id;
  for (const Print& p : batch.mapped().prints) {
    const std::optional<Fingerprint> found = fingerprints_->Result(p.piece.slot);
    fingerprints_->Give(p.piece.slot);
    LetGo(p);
    State& s = StateOf(p.chunk);
    if (s.life != p.life || !found.has_value()) continue;
    // Those of other streams may come in another order.
    if (s.last != 0) {
      compared_({.base = p.piece.data,
                 .size = p.piece.size,
                 .first = std::min(s.last, id),
                 .last = std::max(s.last, id),
                 .same = s.print == *found});
    }
    if (id < s.last) continue;
    s.last = id;
    s.print = *found;
  }
}

void ContentWatch::Lost(uint64_t number, bool run) {
  MutexLock lock(memory_.mu);
  const auto batch = batches_.extract(number);
  for (const Print& p : batch.mapped().prints) {
    if (run) fingerprints_->CallOff(p.piece.slot);
    LetGo(p);
  }
}

bool ContentWatch::CallOff(absl::Span<const ChunkIndex> chunks) {
  bool any = false;
  for (const auto& [number, batch] : batches_) {
    for (const Print& p : batch.prints) {
      if (!absl::c_linear_search(chunks, p.chunk) || StateOf(p.chunk).life != p.life) continue;
      any = fingerprints_->CallOff(p.piece.slot) || any;
    }
  }
  return any;
}

void ContentWatch::Abandon() {
  MutexLock lock(memory_.mu);
  for (const auto& [number, batch] : batches_) {
    for (const Print& p : batch.prints) LetGo(p);
  }
  abandoned_ = true;
}

}  // namespace vramspan
