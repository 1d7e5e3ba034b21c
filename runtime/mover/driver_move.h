// A move as the driver and the copy engine see it; the scheduler's ChunkMove is of the same place.
#ifndef VRAMSPAN_RUNTIME_MOVER_DRIVER_MOVE_H_
#define VRAMSPAN_RUNTIME_MOVER_DRIVER_MOVE_H_

#include <chrono>
#include <cstdint>
#include <nvtx3/nvtx3.hpp>
#include <optional>

#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "runtime/mover/copy_engine.h"
#include "runtime/space/chunk.h"

namespace vramspan {

struct DriverMove {
  struct NvtxDomain {
    static constexpr char const* name{"vramspan"};
  };
  // Shown by profilers from its start to its end.
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
  };

  explicit DriverMove(const Chunk& c)
      : va(c.base),
        size(c.size()),
        log2(c.log2_size),
        device_slot(c.device_slot),
        host_slot(c.host_slot) {}

  const DevicePtr va;
  const Bytes size;
  const int log2;
  uint32_t device_slot;
  uint32_t host_slot;
  bool took_host_slot = false;  // For this move; else the chunk had it.
  uint64_t accessors = 0;       // When it was mapped ahead (Accessors::changes).
  Status why;                   // It failed.
  CopyEngine::Copy copy;
  Shown shown;
  const std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_DRIVER_MOVE_H_
