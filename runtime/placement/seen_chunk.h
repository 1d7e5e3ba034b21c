// What a view said of a chunk when it was last asked, in little room: it tells whether the view
// says the same now. Pure.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_SEEN_CHUNK_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_SEEN_CHUNK_H_

#include <cstdint>

#include "runtime/placement/types.h"

namespace vramspan {

class SeenChunk {
 public:
  SeenChunk() = default;  // It was never asked.
  explicit SeenChunk(const ChunkView& view)
      : size_(view.size.value),
        known_(true),
        on_device_(view.on_device),
        busy_(view.busy),
        incoming_(view.incoming),
        movable_(view.movable),
        prefer_host_(view.prefer_host),
        empty_(view.empty),
        claim_(view.claim) {}

  bool known() const { return known_; }
  uint64_t size() const { return size_; }
  bool on_device() const { return on_device_; }
  bool busy() const { return busy_; }
  bool incoming() const { return incoming_; }
  bool movable() const { return movable_; }
  bool prefer_host() const { return prefer_host_; }
  bool empty() const { return empty_; }
  Claim claim() const { return claim_; }

  bool operator==(const SeenChunk&) const = default;

 private:
  uint64_t size_ = 0;
  bool known_ = false, on_device_ = false, busy_ = false, incoming_ = false, movable_ = false,
       prefer_host_ : 1 = false, empty_ : 1 = false;
  Claim claim_ = Claim::kOrdinary;
};
static_assert(sizeof(SeenChunk) == 16);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_SEEN_CHUNK_H_
