// How far many replays, or other pieces of work, are, on stderr.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_REPLAY_PROGRESS_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_REPLAY_PROGRESS_H_

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <string>

#include "runtime/base/clean_text.h"

namespace vramspan::replay {

// On a terminal all the time, else now and then.
class Progress {
 public:
  Progress(const std::string& what, size_t all, const char* pieces = "replays")
      : what_(CleanText(what)), all_(all), pieces_(pieces), terminal_(isatty(STDERR_FILENO) != 0) {}
  ~Progress() {
    if (shown_ && terminal_) std::cerr << "\r\033[K" << std::flush;
  }
  void operator()(size_t done) { Show(absl::StrFormat("%d of %d %s", done, all_, pieces_)); }
  // Of the curves, behind the replays or without any.
  void Curves(double part) { Show(absl::StrFormat("%.0f %% of the curves", 100 * part)); }

 private:
  void Show(const std::string& how_far) {
    const auto now = Clock::now();
    if (now - last_ < (terminal_ ? kOnTerminal : kElsewhere)) return;
    last_ = now;
    shown_ = true;
    const std::string text = absl::StrCat(what_, ": ", how_far);
    std::cerr << (terminal_ ? "\r\033[K" + text : text + "\n") << std::flush;
  }

  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kOnTerminal{200};
  static constexpr std::chrono::milliseconds kElsewhere{10000};

  const std::string what_;
  const size_t all_;
  const char* const pieces_;
  const bool terminal_;
  bool shown_ = false;
  Clock::time_point last_ = Clock::now();
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_REPLAY_PROGRESS_H_
