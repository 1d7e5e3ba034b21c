// The last few addresses that were freed, so that a double free is named as one. Only a better
// error message hangs on it: what has dropped out is reported as not allocated.
#ifndef VRAMSPAN_RUNTIME_SPACE_RECENTLY_FREED_H_
#define VRAMSPAN_RUNTIME_SPACE_RECENTLY_FREED_H_

#include <algorithm>
#include <array>

#include "runtime/base/units.h"

namespace vramspan {

class RecentlyFreed {
 public:
  void Add(DevicePtr p) { addresses_[next_++ % addresses_.size()] = p; }
  // REQUIRES: p != 0.
  bool Has(DevicePtr p) const {
    return std::find(addresses_.begin(), addresses_.end(), p) != addresses_.end();
  }

 private:
  std::array<DevicePtr, 64> addresses_;
  uint32_t next_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SPACE_RECENTLY_FREED_H_
