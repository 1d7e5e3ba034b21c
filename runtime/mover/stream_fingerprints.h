// Fingerprints (fingerprint.h) taken in the program's own streams, behind its kernels and by the
// threads that launch them: whether a kernel has written a chunk is known when it has ended, with
// no switch between contexts and nothing for the mover to start. Whether one is taken can be said
// until the stream comes there: a program may be laps ahead of the device, and what a fingerprint
// would tell is not known before the kernel is let go.
//
// Threads: Take, Give, Ask and Result under one lock of the caller's; Queue by any, without it. The
// program's context is current where one is made and where it queues.
#ifndef VRAMSPAN_RUNTIME_MOVER_STREAM_PRINTS_H_
#define VRAMSPAN_RUNTIME_MOVER_STREAM_PRINTS_H_

#include <absl/types/span.h>

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "runtime/driver/driver.h"
#include "runtime/mover/fingerprinter.h"

namespace vramspan {

class StreamFingerprints {
 public:
  static constexpr uint32_t kSlots = 4096;
  struct Piece {
    DevicePtr data;
    Bytes size;
    uint32_t slot;
  };

  // Loads the kernel, tries it, and so has it loaded for good.
  static StatusOr<std::unique_ptr<StreamFingerprints>> Create(std::shared_ptr<const Driver> driver);
  ~StreamFingerprints();

  // Where a result goes; none: all are out.
  std::optional<uint32_t> Take();
  // One that was called off is lost: its kernel may have been at it.
  void Give(uint32_t slot) {
    if (!called_off_[slot]) free_.push_back(slot);
  }
  // It is to be taken. Before the stream may come past it: afterwards it is too late.
  void Ask(uint32_t slot);
  // It is not to be taken, unless that has begun. True if it had been asked for: until the stream
  // has come past it, it may be under way.
  bool CallOff(uint32_t slot);
  static constexpr size_t kPiecesOfALaunch = 8;
  // Puts them into the stream, so many to a launch. What failed leaves its results as they were.
  Status Queue(CUstream stream, absl::Span<const Piece> pieces) const;
  // None where none was taken. REQUIRES: the stream has come past it.
  std::optional<Fingerprint> Result(uint32_t slot) const;

 private:
  explicit StreamFingerprints(std::shared_ptr<const Driver> driver) : driver_(std::move(driver)) {}

  const std::shared_ptr<const Driver> driver_;
  CUmodule module_ = nullptr;
  CUfunction kernel_ = nullptr;
  CUdeviceptr sums_ = 0;  // Four words for each slot, zero while no kernel runs.
  // Both in pinned host memory.
  Fingerprint* results_ = nullptr;  // Zero: not taken.
  std::atomic<uint32_t>* asked_ = nullptr;
  std::vector<uint32_t> free_;
  std::vector<bool> called_off_ = std::vector<bool>(kSlots);
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_STREAM_PRINTS_H_
