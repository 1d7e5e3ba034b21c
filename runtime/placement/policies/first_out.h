// Around any policy: chunks that the program advised to leave are offered before all others, the
// least recently used first; the rest in the order of the policy within.
//
// Metadata: nothing where there is no such advice, else up to 8 bytes a chunk.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_FIRST_OUT_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_FIRST_OUT_H_

#include <memory>
#include <vector>

#include "runtime/placement/policies/chunk_list.h"
#include "runtime/placement/policy.h"

namespace vramspan {

class FirstOutPolicy final : public EvictionPolicy {
 public:
  explicit FirstOutPolicy(std::unique_ptr<EvictionPolicy> rest) : rest_(std::move(rest)) {}

  std::string_view name() const override { return rest_->name(); }
  void OnInsert(ChunkIndex chunk) override;
  void OnUse(ChunkIndex chunk) override;
  void OnRemove(ChunkIndex chunk) override;
  void OnPrice(ChunkIndex chunk, uint32_t nanoseconds_saved_per_use, Bytes size) override {
    rest_->OnPrice(chunk, nanoseconds_saved_per_use, size);
  }
  void Advise(ChunkIndex chunk, bool leaves_first, bool on_device) override;
  bool Draws() const override { return rest_->Draws(); }
  void OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) override;
  void OfferAmong(absl::Span<const ChunkIndex> wanted,
                  absl::FunctionRef<bool(ChunkIndex)> take) override;

 private:
  const std::unique_ptr<EvictionPolicy> rest_;  // Knows every chunk on the device.
  std::vector<bool> advised_;                   // By chunk, wherever it lies.
  ChunkList first_;                             // Those advised that are on the device.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_FIRST_OUT_H_
