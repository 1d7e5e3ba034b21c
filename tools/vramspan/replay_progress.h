// How far many replays are, on stderr.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_REPLAY_PROGRESS_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_REPLAY_PROGRESS_H_

#include <absl/strings/str_format.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <string>
#include <utility>

namespace vramspan::replay {

// On a terminal all the time, else now and then.
class Progress {
 public:
  Progress(std::string what, size_t all)
      : what_(std::move(what)), all_(all), terminal_(isatty(STDERR_FILENO) != 0) {}
  ~Progress() {
    if (shown_ && terminal_) std::cerr << "\r\033[K" << std::flush;
  }
  void operator()(size_t done) {
    const auto now = Clock::now();
    if (now - last_ < (terminal_ ? kOnTerminal : kElsewhere)) return;
    last_ = now;
    shown_ = true;
    const std::string text = absl::StrFormat("%s: %d of %d replays", what_, done, all_);
    std::cerr << (terminal_ ? "\r\033[K" + text : text + "\n") << std::flush;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kOnTerminal{200};
  static constexpr std::chrono::milliseconds kElsewhere{10000};

  const std::string what_;
  const size_t all_;
  const bool terminal_;
  bool shown_ = false;
  Clock::time_point last_ = Clock::now();
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_REPLAY_PROGRESS_H_
