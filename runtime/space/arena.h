// The addresses of one device: a single large reservation, made once, from which ranges are handed
// out. Only bookkeeping: nothing here maps memory.
//
// Threads: not safe; the caller holds the space lock.
#ifndef VRAMSPAN_RUNTIME_SPACE_ARENA_H_
#define VRAMSPAN_RUNTIME_SPACE_ARENA_H_

#include <memory>

#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "runtime/driver/driver.h"
#include "runtime/space/holes.h"

namespace vramspan {

class Arena {
 public:
  static constexpr Bytes kSmallest = GiB(64);

  // Reserves `size` (a multiple of 64 MiB). Where the driver refuses, tries halves down to 64 GiB,
  // then fails with an error that names both sizes.
  static StatusOr<std::unique_ptr<Arena>> Create(std::shared_ptr<const Driver> driver, Bytes size);
  // Hands out [base, base + size), which someone else reserved or which is never mapped (tests, a
  // simulated device). REQUIRES: multiples of 2 MiB, not zero.
  static std::unique_ptr<Arena> Over(DevicePtr base, Bytes size);
  // Gives a reservation back. REQUIRES: nothing is mapped in it.
  ~Arena();

  // A free range of `size` bytes aligned to `alignment` (both multiples of 2 MiB, the alignment a
  // power of two; else InvalidArgument), lowest address first so that the arena stays dense.
  // ResourceExhausted names the arena's size and the largest hole.
  StatusOr<DevicePtr> Take(Bytes size, Bytes alignment);
  // REQUIRES: [p, p + size) was taken, and is wholly given back. Neighbouring holes merge.
  void Give(DevicePtr p, Bytes size);

  DevicePtr base() const { return base_; }
  Bytes size() const { return size_; }
  Bytes free_bytes() const { return holes_.total(); }
  const Holes& holes() const { return holes_; }

 private:
  Arena(std::shared_ptr<const Driver> driver, DevicePtr base, Bytes size);

  const std::shared_ptr<const Driver> driver_;  // Null: the reservation is not ours.
  const DevicePtr base_;
  const Bytes size_;
  Holes holes_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SPACE_ARENA_H_
