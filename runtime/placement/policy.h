// Which chunk leaves when the queue has nothing to say about it: the order beyond the look-ahead.
// One file per policy under policies/. Deterministic: `random` draws from its seed.
//
// Threads: not safe; the caller holds the lock of what it places. A policy follows what is on the
// device: every chunk there was announced by OnInsert, and none that was removed is offered. A
// second OnInsert, and OnUse or OnRemove of a chunk that is not on the device, change nothing.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_POLICY_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_POLICY_H_

#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/units.h"

namespace vramspan {

class EvictionPolicy {
 public:
  virtual ~EvictionPolicy() = default;
  virtual std::string_view name() const = 0;

  virtual void OnInsert(ChunkIndex chunk) = 0;  // Came to the device.
  virtual void OnUse(ChunkIndex chunk) = 0;     // Work that touches it was released.
  virtual void OnRemove(ChunkIndex chunk) = 0;  // Left the device, or was freed.

  // What each use of the chunk saves while it is on the device, as its history has it, wherever it
  // lies; until the next. A policy that goes by price takes it per byte, and as equal for all where
  // it was never called; a chunk that is on the device stands as one just used where it changes.
  virtual void OnPrice(ChunkIndex, uint32_t /*nanoseconds_saved_per_use*/, Bytes /*size*/) {}

  // The program said that the chunk should leave before all others, or took that back. It holds
  // wherever the chunk lies, until taken back, so it is taken back when the chunk is freed.
  // `on_device`: where it lies now. The policies that MakePolicy makes all heed it.
  virtual void Advise(ChunkIndex, bool /*leaves_first*/, bool /*on_device*/) {}

  // Whether an offer changes what is offered next, so that none may be left out.
  virtual bool Draws() const { return false; }
  // Offers chunks in the order in which they should leave until `take` returns true for one or all
  // have been offered. Offering does not remove: OnRemove follows when the chunk really leaves.
  // `take` must not call the policy.
  virtual void OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) = 0;
  // The same where only those of `wanted` are, which are on the device: `take` refuses others, and
  // so they may be left out.
  virtual void OfferAmong(absl::Span<const ChunkIndex> /*wanted*/,
                          absl::FunctionRef<bool(ChunkIndex)> take) {
    OfferVictims(take);
  }
};

// By name. InvalidArgument names the text and lists the policies there are.
StatusOr<std::unique_ptr<EvictionPolicy>> MakePolicy(std::string_view name, uint64_t seed = 1);
std::vector<std::string_view> PolicyNames();

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_POLICY_H_
