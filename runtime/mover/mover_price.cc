// What traced kernels teach: where each finds its memory when it is let go, how long it then runs,
// and so what the next launch of it should have moved (placement/kernel_history.h). And the way
// back: what is hot and on the host, when there is room.
#include <absl/hash/hash.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "runtime/mover/mover.h"
#include "runtime/placement/move_limits.h"

namespace vramspan {
namespace {

constexpr std::chrono::nanoseconds kIdleFetchPeriod{kIdleFetchPeriodNs};

}  // namespace

void Mover::TeachKernel(uint64_t kernel, double passes, uint64_t resident_ns) {
  MutexLock lock(memory_.mu);
  trials_.history().Teach(kernel, passes, resident_ns);
}

uint64_t Mover::SignatureOf(const StreamWork& work) {
  uint64_t signature = 0;
  for (const ChunkUse& use : work.uses) signature = absl::HashOf(signature, use.chunk.value);
  return signature == 0 ? 0 : absl::HashOf(signature, work.kernel);
}

void Mover::NoteSequence(const StreamWork& work) {
  // A copy between two launches moves nothing and is no part of the sequence.
  if (work.signature == 0 || (work.kernel == 0 && work.wanted.empty())) return;
  const absl::Span<const ChunkIndex> wanted = work.wanted;
  forecast_.Saw(work.signature);
  const auto known = sets_.find(work.signature);
  if (known != sets_.end()) {
    if (wanted == known->second.chunks) return;
    set_chunks_ -= known->second.chunks.size();
    known->second.chunks.clear();
  }
  if (set_chunks_ + wanted.size() > kMostSetChunks ||
      (known == sets_.end() && sets_.size() == kMostSets)) {
    sets_.clear();
    set_chunks_ = 0;
    if (wanted.size() > kMostSetChunks) return;
  }
  set_chunks_ += wanted.size();
  ExpectedSet& set = sets_[work.signature];
  set.kernel = work.kernel;
  set.chunks.assign(wanted.begin(), wanted.end());
}

void Mover::AddForecast(std::vector<QueuedWork>* works) {
  if (!options_.traced || works->size() >= kExpectedWorks) return;
  uint64_t next[kExpectedWorks];
  const size_t count = forecast_.Next(absl::MakeSpan(next).first(kExpectedWorks - works->size()));
  for (size_t i = 0; i < count; ++i) {
    const auto set = sets_.find(next[i]);
    if (set == sets_.end()) return;
    // Chunks that were freed since are of no size and never move; those of others cost time only.
    works->push_back(
        {.chunks = set->second.chunks, .duration = trials_.history().Expected(set->second.kernel)});
  }
}

void Mover::AddIdleFetches(std::vector<ChunkIndex>* fetch) {
  const auto now = Clock::now();
  if (!may_fetch_idly_ || now < no_idle_fetch_before_ || barriers_in_flight_ != 0 ||
      !moves_.empty())
    return;
  no_idle_fetch_before_ = now + kIdleFetchPeriod;
  may_fetch_idly_ = false;
  Bytes room = memory_.device_pool().available();
  if (room < ChunkBytes(kMinChunkLog2)) return;
  std::vector<std::pair<double, ChunkIndex>> warm;
  for (uint32_t i = 1; i < memory_.chunks().end(); ++i) {
    const ChunkIndex index(i);
    const Chunk& c = memory_.chunks()[index];
    if (c.state != ChunkState::kHost || c.in_flight != 0 || !residency_.Movable(c) ||
        Residency::ServedInPlace(c))
      continue;
    const double heat = trials_.heat().Of(index);
    if (heat >= kWarm) warm.emplace_back(heat, index);
  }
  std::sort(warm.begin(), warm.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second.value < b.second.value;
  });
  for (const auto& [heat, index] : warm) {
    const Bytes size = memory_.chunks()[index].size();
    if (fetch->size() == kReturnedAtOnce) break;
    if (size > room) continue;
    room -= size;
    fetch->push_back(index);
  }
}

}  // namespace vramspan
