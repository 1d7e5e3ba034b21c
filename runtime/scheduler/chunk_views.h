// The chunks as the planner sees them, with what has changed since the plan before.
//
// Pure: no clock, no lock. One owner.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_CHUNK_VIEWS_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_CHUNK_VIEWS_H_

#include <optional>
#include <vector>

#include "runtime/placement/types.h"
#include "runtime/scheduler/residency.h"

namespace vramspan {

class ChunkViews final : public ResidencyView {
 public:
  explicit ChunkViews(Residency* residency) : residency_(*residency) {}

  // What counts for the next plan. `over_budget`: even chunks to keep may leave. `trial`: stays
  // where it is; null for none. `stuck`: will not come free by themselves; sorted.
  void Set(bool over_budget, ChunkIndex trial, std::vector<ChunkIndex> stuck);

  ChunkView Get(ChunkIndex index) const override;
  std::optional<absl::Span<const ChunkIndex>> Changed() const override { return changed_; }

 private:
  Residency& residency_;
  bool over_budget_ = false;
  ChunkIndex trial_;
  absl::Span<const ChunkIndex> changed_;
  std::vector<ChunkIndex> stuck_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_CHUNK_VIEWS_H_
