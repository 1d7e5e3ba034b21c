// What it costs to touch a byte where it lies, and to move it first: the figures that decisions are
// made with. Per device; the defaults were measured on an H100 over PCIe 5
// (docs/findings/0012-what-traced-programs-reach.md).
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_PRICES_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_PRICES_H_

#include <algorithm>

#include "runtime/base/units.h"

namespace vramspan {

struct Prices {
  double serve_gb_per_s = 51;  // A kernel that streams through host memory.
  // Moved in, while as much is moved out: what a kernel's memory pays for its place, since what
  // leaves for it was most likely written.
  double move_gb_per_s = 37;
  double device_gb_per_s = 3000;  // A kernel that streams through device memory.
  // So much of the most that a device's memory allows: of 3,352 GB/s on an H100 and, by a sum of 4
  // GiB, of 4,917 on an H200 (docs/findings/0076-what-replays-of-pytorch-lacked.md).
  static constexpr double kStreamed = 0.9;

  double ServeNanoseconds(Bytes bytes) const {
    return static_cast<double>(bytes.value) / serve_gb_per_s;
  }
  double MoveNanoseconds(Bytes bytes) const {
    return static_cast<double>(bytes.value) / move_gb_per_s;
  }
  // A byte that crosses the bus more often than this in one launch had better be moved.
  double MostPasses() const { return std::max(kOnce, serve_gb_per_s / move_gb_per_s); }

  // What reads each byte once is seen to take up to 1.2 passes beside copies, what writes it as
  // well 1.11 to 1.27 alone and 1.36 beside, and a move takes calls on mappings besides
  // (docs/findings/0018-trials.md).
  static constexpr double kOnce = 1.5;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_PRICES_H_
