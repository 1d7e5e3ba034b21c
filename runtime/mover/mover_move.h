// One move of one chunk, private to the mover.
#ifndef VRAMSPAN_RUNTIME_MOVER_MOVER_MOVE_H_
#define VRAMSPAN_RUNTIME_MOVER_MOVER_MOVE_H_

#include <chrono>
#include <nvtx3/nvtx3.hpp>
#include <optional>

#include "runtime/mover/mover.h"

namespace vramspan {

struct Mover::Move {
  ChunkIndex chunk;
  bool in = false;     // To the device; else to the host.
  bool clean = false;  // Nothing to copy: the other side holds the same, or there is nothing yet.
  bool explicit_request = false;  // The program asked for it.
  bool listed = false;            // Among those that are, or soon will be, without a mapping.
  // A remap failed both ways, and the address shows nothing until mended, or what was mapped ahead
  // cannot be taken back.
  bool unmapped = false;
  // Its memory on the device is mapped before its contents are there: the chunk is unmapped.
  bool ahead = false;
  uint64_t accessors = 0;  // Then what the mapping's were (Accessors::changes).
  DevicePtr va;
  int log2 = 0;
  ChunkState origin = ChunkState::kNone;
  uint32_t device_slot = kNoSlot;
  uint32_t host_slot = kNoSlot;
  std::optional<Fingerprint> expected;  // Of what the host slot holds.
  std::optional<Fingerprint> content;   // Of what leaves, where that is known.
  CopyEngine::Copy copy;
  // Shown by profilers from its start to its end.
  struct NvtxDomain {
    static constexpr char const* name{"vramspan"};
  };
  class Shown {
   public:
    ~Shown() { End(); }
    void Begin(const char* what) { range_ = nvtx3::start_range_in<NvtxDomain>(what); }
    void End() {
      if (range_.has_value()) nvtx3::end_range_in<NvtxDomain>(*range_);
      range_.reset();
    }

   private:
    std::optional<nvtx3::range_handle> range_;
  } shown;
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point due;  // When it was first to be remapped.

  Bytes size() const { return ChunkBytes(log2); }
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_MOVER_MOVE_H_
