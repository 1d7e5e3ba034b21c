// What backs chunks: device memory as long as there is room, then host memory. Here is known how
// short device memory is.
//
// Threads: any. Errors: ResourceExhausted where neither has room.
#ifndef VRAMSPAN_RUNTIME_MEMORY_SUPPLY_H_
#define VRAMSPAN_RUNTIME_MEMORY_SUPPLY_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "runtime/memory/memory_state.h"

namespace vramspan {

class Supply {
 public:
  // `state` outlives it.
  explicit Supply(MemoryState* state) : state_(*state) {}

  // A slot for a chunk of 2^log2 bytes.
  StatusOr<Backing> Back(int log2) VS_EXCLUDES(state_.mu);
  void Unback(const Backing& backing);
  CUmemGenericAllocationHandle Handle(const Backing& backing);
  // A slot of host memory; where there is no room, that of some chunk's twin: a twin is only a
  // saving, and who asks needs the memory more.
  StatusOr<uint32_t> AcquireHost(int log2) VS_EXCLUDES(state_.mu);

  // Data went to host memory.
  void NoteHostUse();
  // Says that once, with how much it is by now. The first chunk says little of what is to come: it
  // waits until that is a share of the budget, or a second has gone by. To be called when an
  // allocation or a move has what it asked for, and now and then as long as `owes_word`.
  void TellShortage();
  // The same, without a wait: the program ends, and memory `was_used` there.
  void TellShortageAtEnd(bool was_used);
  bool owes_word() const {
    return host_used() && state_.options().announce && !told_.load(std::memory_order_relaxed);
  }
  // In how long that second is over; none where no word is owed.
  std::optional<std::chrono::nanoseconds> WordDue() const;
  // The most that it was at once, as those calls saw it.
  Bytes most_on_host() const { return Bytes(most_on_host_.load(std::memory_order_relaxed)); }
  // Whether all data is on the device, also such as no chunk shows. The caller holds the memory
  // lock, as for SetOnDevice.
  bool AllOnDevice() VS_NO_THREAD_SAFETY_ANALYSIS;
  // From here on memory is not short until some goes to the host. REQUIRES: AllOnDevice.
  void SetOnDevice();
  // Whether any ever has.
  bool host_used() const { return host_used_.load(std::memory_order_relaxed) != kNever; }
  // Since when, where it is said.
  std::optional<std::chrono::steady_clock::time_point> short_since() const;
  // Makes host memory ready in the background once the device is filling up.
  void PrepareHost() VS_EXCLUDES(state_.mu);

  // True once host memory backs anything, or 80 % are used of what the device budget is, or would
  // be if more were asked for: from then on what moves need is made ready, and declared work is
  // worth recording.
  bool filling() const;
  // True while host memory backs anything (see AllOnDevice) or more is used than the budget allows:
  // traced work is worth recording then.
  bool short_of_device() const;

 private:
  static constexpr int64_t kNever = INT64_MIN;

  // Notes how much is there now, and returns that.
  Bytes NoteOnHost();

  MemoryState& state_;
  std::atomic<int64_t> host_used_{kNever};  // When first, as the clock counts.
  std::atomic<bool> on_host_{false};        // Some data may be there.
  std::atomic<uint64_t> most_on_host_{0};   // Bytes.
  std::atomic<bool> told_{false};
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MEMORY_SUPPLY_H_
