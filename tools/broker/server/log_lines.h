// Which lines of a log are written, and which are only counted: no more than ten a second, and none
// that nobody has room for. What was not written is said later, however long that takes.
//
// Pure: whoever writes, and the clock, come in.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_LOG_LINES_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_LOG_LINES_H_

#include <absl/functional/function_ref.h>

#include <cstdint>
#include <string_view>

#include "runtime/base/units.h"

namespace vramspan::broker {

class LogLines {
 public:
  // Writes a line. False: there was no room for it, and nothing of it was written.
  using Write = absl::FunctionRef<bool(std::string_view)>;

  void Say(std::string_view text, Instant now, Write write);
  // Says what it owes, as far as there is room.
  void CatchUp(Instant now, Write write);
  // Something was not written, and nobody was told yet.
  bool owes() const { return dropped_ > 0 || unread_ > 0; }
  uint64_t lost() const { return lost_; }  // Lines, in all.

 private:
  Instant end_;  // Of this second,
  int lines_ = 0;
  uint64_t dropped_ = 0;  // too many in a second,
  uint64_t unread_ = 0;   // or without room: those that nobody was told of.
  uint64_t lost_ = 0;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_LOG_LINES_H_
