// Launches that follow each other and all took more than noise from host memory. One disturbance
// may last for several of them (finding 0045).
//
// Pure. One owner.
#ifndef VRAMSPAN_RUNTIME_API_NOISY_RUNS_H_
#define VRAMSPAN_RUNTIME_API_NOISY_RUNS_H_

#include <chrono>
#include <cstdint>

#include "runtime/base/units.h"

namespace vramspan {

class NoisyRuns {
 public:
  // Launches further apart are not of one run, whatever lay between.
  static constexpr Duration kApart = std::chrono::milliseconds(100);

  // The number of the run that the launch `tag` belongs to, which took more than noise. `tag`
  // counts launches, and grows from call to call; `at`: when it was submitted.
  uint64_t Of(uint64_t tag, Instant at) {
    if (number_ == 0 || tag != last_ + 1 || at - at_ > kApart) ++number_;
    last_ = tag;
    at_ = at;
    return number_;
  }

 private:
  uint64_t number_ = 0;
  uint64_t last_ = 0;
  Instant at_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_NOISY_RUNS_H_
