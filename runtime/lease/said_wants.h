// When a process says what it wants: its page tells the rest.
//
// Pure: the instant comes in.
#ifndef VRAMSPAN_RUNTIME_LEASE_SAID_WANTS_H_
#define VRAMSPAN_RUNTIME_LEASE_SAID_WANTS_H_

#include <algorithm>
#include <chrono>

#include "runtime/base/units.h"
#include "runtime/lease/session.h"

namespace vramspan::lease {

class SaidWants {
 public:
  // Whether that is to be said now, of which so it is taken to be. Only more than was said is.
  bool Says(const Wants& wants, Instant now) {
    const bool more = wants.device > wants_.device || wants.host > wants_.host;
    // What is no longer wanted the page tells. It may be wanted again.
    wants_.device = std::min(wants_.device, wants.device);
    wants_.host = std::min(wants_.host, wants.host);
    if (!more || now < next_) return false;
    wants_ = wants;
    next_ = now + kApart;
    return true;
  }
  // Not before this again.
  Instant next() const { return next_; }

 private:
  // A program that allocates all the time does not flood the broker.
  static constexpr Duration kApart = std::chrono::milliseconds(10);

  Wants wants_;
  Instant next_;
};

}  // namespace vramspan::lease

#endif  // VRAMSPAN_RUNTIME_LEASE_SAID_WANTS_H_
