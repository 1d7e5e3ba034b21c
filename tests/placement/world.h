// Chunks and a policy for tests of single plans.
#ifndef VRAMSPAN_TESTS_PLACEMENT_WORLD_H_
#define VRAMSPAN_TESTS_PLACEMENT_WORLD_H_

#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/placement/planner.h"

namespace vramspan {

using Chunks = std::vector<ChunkIndex>;

inline Chunks Listed(std::initializer_list<uint32_t> ids) {
  Chunks chunks;
  for (const uint32_t id : ids) chunks.push_back(ChunkIndex(id));
  return chunks;
}

class World final : public ResidencyView {
 public:
  explicit World(std::string_view policy = "lru") : policy_(MakePolicy(policy).value()) {
    request.horizon = GiB(1024);
    request.max_fetches = request.max_evictions = 1000;
  }

  // Chunks come to the device in the order in which they are added.
  ChunkView& Device(uint32_t id, Bytes size = MiB(2)) {
    ChunkView& view = Host(id, size);
    view.on_device = true;
    policy_->OnInsert(ChunkIndex(id));
    return view;
  }
  ChunkView& Host(uint32_t id, Bytes size = MiB(2)) {
    if (id >= chunks_.size()) chunks_.resize(id + 1);
    chunks_[id] = {.size = size};
    return chunks_[id];
  }
  void Queue(Chunks chunks, uint64_t duration = 1, bool explicit_request = false) {
    works_.push_back(std::move(chunks));
    queue_.push_back({.id = queue_.size(),
                      .chunks = works_.back(),
                      .duration = duration,
                      .explicit_request = explicit_request});
    request.queue = queue_;
  }

  ChunkView Get(ChunkIndex chunk) const override {
    return chunk.value < chunks_.size() ? chunks_[chunk.value] : ChunkView{};
  }
  ChunkView& At(ChunkIndex chunk) { return chunks_.at(chunk.value); }
  const std::deque<Chunks>& works() const { return works_; }
  uint32_t chunk_count() const { return static_cast<uint32_t>(chunks_.size()); }
  EvictionPolicy& policy() { return *policy_; }
  Plan Make() { return planner_.Make(request, *this); }

  PlanRequest request;

 private:
  std::unique_ptr<EvictionPolicy> policy_;
  Planner planner_{policy_.get()};
  std::deque<ChunkView> chunks_;
  std::deque<Chunks> works_;
  std::vector<QueuedWork> queue_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_TESTS_PLACEMENT_WORLD_H_
