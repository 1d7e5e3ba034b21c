#include "tools/broker/server/log_lines.h"

#include <absl/strings/str_cat.h>

#include <chrono>

#include "tools/broker/core/amounts.h"

namespace vramspan::broker {
namespace {

constexpr int kLinesASecond = 10;

}  // namespace

void LogLines::CatchUp(Instant now, Write write) {
  if (unread_ > 0 && write(absl::StrCat(unread_, " lines were lost, because nobody read them"))) {
    unread_ = 0;
  }
  if (now < end_) return;
  // Counted until it is said: a notice that has no room is tried again.
  if (dropped_ > 0 && unread_ == 0 && write(absl::StrCat(dropped_, " lines were not written"))) {
    dropped_ = 0;
  }
  end_ = After(now, std::chrono::seconds(1));
  lines_ = 0;
}

void LogLines::Say(std::string_view text, Instant now, Write write) {
  CatchUp(now, write);
  if (++lines_ > kLinesASecond) {
    ++dropped_;
    ++lost_;
    return;
  }
  if (unread_ == 0 && write(text)) return;
  ++unread_;
  ++lost_;
}

}  // namespace vramspan::broker
