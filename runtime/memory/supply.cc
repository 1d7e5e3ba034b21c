#include "runtime/memory/supply.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <array>

#include "runtime/base/log.h"
#include "runtime/placement/move_limits.h"

namespace vramspan {
namespace {

// Of the budget, so much in host memory is worth a line at once: a sixteenth.
constexpr uint64_t kShareTold = 16;
constexpr std::chrono::seconds kToldAfter{1};

}  // namespace

StatusOr<Backing> Supply::Back(int log2) {
  const StatusOr<uint32_t> device = state_.device_pool().Acquire(log2);
  if (device.ok()) return Backing{*device, true, log2};
  if (!state_.options().use_host || !absl::IsResourceExhausted(device.status())) {
    return device.status();
  }
  {
    MutexLock lock(state_.mu);
    // Room that is only waiting for a drain is better than host memory.
    if (state_.freed_ranges().any_quarantined()) return device.status();
  }
  // Beyond a budget that was lowered nothing is taken over either: what is there is to become less.
  HostPool& pool = state_.host_pool();
  const bool over = pool.used() > pool.budget();
  const StatusOr<uint32_t> host = over ? pool.Acquire(log2) : AcquireHost(log2);
  if (!host.ok()) {
    return Status(host.status().code(),
                  absl::StrCat(device.status().message(), "; and ", host.status().message()));
  }
  NoteHostUse();
  return Backing{*host, false, log2};
}

void Supply::Unback(const Backing& backing) {
  if (backing.slot == kNoSlot) return;
  if (backing.on_device) {
    state_.device_pool().Release(backing.slot);
  } else {
    state_.host_pool().Release(backing.slot);
  }
}

CUmemGenericAllocationHandle Supply::Handle(const Backing& backing) {
  return backing.on_device ? state_.device_pool().handle(backing.slot)
                           : state_.host_pool().handle(backing.slot);
}

StatusOr<uint32_t> Supply::AcquireHost(int log2) {
  StatusOr<uint32_t> slot = state_.host_pool().Acquire(log2);
  if (slot.ok() || !absl::IsResourceExhausted(slot.status())) return slot;
  MutexLock lock(state_.mu);
  if (const std::optional<uint32_t> copy = state_.map().TakeHostCopy(log2)) return *copy;
  return slot;
}

bool Supply::AllOnDevice() {
  Bytes copies;
  for (uint32_t i = 1; i < state_.chunks().end(); ++i) {
    const Chunk& c = state_.chunks()[ChunkIndex(i)];
    if (c.state == ChunkState::kNone) continue;
    if (!c.on_device || c.lost) return false;
    if (c.host_slot != kNoSlot) copies += c.size();
  }
  // The rest has no address yet, or none any more.
  return state_.host_pool().used() <= copies;
}

void Supply::SetOnDevice() { on_host_.store(false, std::memory_order_release); }

void Supply::NoteHostUse() {
  on_host_.store(true, std::memory_order_release);
  if (host_used()) return;
  int64_t never = kNever;
  const int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
  host_used_.compare_exchange_strong(never, now, std::memory_order_relaxed);
}

Bytes Supply::NoteOnHost() {
  const Bytes there = state_.host_pool().used();
  uint64_t most = most_on_host_.load(std::memory_order_relaxed);
  while (there.value > most && !most_on_host_.compare_exchange_weak(most, there.value)) {
  }
  return there;
}

void Supply::TellShortage() {
  if (!host_used()) return;
  const Bytes there = NoteOnHost();
  // What failed half-way holds nothing.
  if (!owes_word() || there == Bytes(0)) return;
  const Bytes budget = state_.device_pool().budget();
  if (there < Bytes(budget.value / kShareTold) &&
      std::chrono::steady_clock::now() < *short_since() + kToldAfter) {
    return;
  }
  if (told_.exchange(true, std::memory_order_relaxed)) return;
  Log(LogLevel::kWarning,
      absl::StrFormat("device memory is short (budget %d MiB): %d MiB live in host memory so far, "
                      "and move as they are used%s",
                      budget.value >> 20, there.value >> 20, state_.options().shortage_note));
}

std::optional<std::chrono::nanoseconds> Supply::WordDue() const {
  if (!owes_word() || state_.host_pool().used() == Bytes(0)) return std::nullopt;
  const auto left = *short_since() + kToldAfter - std::chrono::steady_clock::now();
  return std::max<std::chrono::nanoseconds>(left, std::chrono::nanoseconds(0));
}

void Supply::TellShortageAtEnd(bool was_used) {
  if (!owes_word()) return;
  if (NoteOnHost() == Bytes(0) && !was_used) return;
  if (told_.exchange(true, std::memory_order_relaxed)) return;
  Log(LogLevel::kWarning,
      absl::StrFormat("device memory was short (budget %d MiB): up to %d MiB lived in host memory, "
                      "and moved as they were used%s",
                      state_.device_pool().budget().value >> 20, most_on_host().value >> 20,
                      state_.options().shortage_note));
}

std::optional<std::chrono::steady_clock::time_point> Supply::short_since() const {
  if (!host_used() || !state_.options().announce) return std::nullopt;
  return std::chrono::steady_clock::time_point(
      std::chrono::steady_clock::duration(host_used_.load(std::memory_order_relaxed)));
}

void Supply::PrepareHost() {
  if (!state_.options().use_host || !filling()) return;
  // An eighth of what the device holds in chunks of each size, at least four of them: slots come
  // back with every fetch, so what is needed ahead is a pipeline's worth, not a second device.
  std::array<Bytes, kChunkSizeCount> ready{};
  {
    MutexLock lock(state_.mu);
    for (uint32_t i = 1; i < state_.chunks().end(); ++i) {
      const Chunk& c = state_.chunks()[ChunkIndex(i)];
      if (c.state != ChunkState::kNone && c.on_device) {
        ready[c.log2_size - kMinChunkLog2] += c.size();
      }
    }
  }
  for (int i = 0; i < kChunkSizeCount; ++i) {
    if (ready[i].value == 0) continue;
    const Bytes least = ChunkBytes(kMinChunkLog2 + i) * 4;
    ready[i] = std::min(std::max(Bytes(ready[i].value / 8), least), GiB(4));
  }
  state_.host_pool().Preallocate(ready);
}

bool Supply::filling() const {
  if (host_used()) return true;
  return IsFilling(state_.device_pool().used(), state_.device_pool().reach());
}

bool Supply::short_of_device() const {
  return on_host_.load(std::memory_order_acquire) ||
         state_.device_pool().used() > state_.device_pool().budget();
}

}  // namespace vramspan
