// A timer of the loop: one instant, or none.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_ALARM_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_ALARM_H_

#include <functional>
#include <optional>

#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "tools/broker/server/fd.h"
#include "tools/broker/server/loop.h"

namespace vramspan::broker {

class Alarm {
 public:
  // Calls `ring` each time that the instant has come. Nothing is set yet.
  Status Start(Loop& loop, std::function<void()> ring);
  // None: it does not ring. One that has passed: at once.
  void Set(std::optional<Instant> at);
  bool is_set() const { return at_.has_value(); }

 private:
  Fd timer_;
  std::optional<Instant> at_;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_ALARM_H_
