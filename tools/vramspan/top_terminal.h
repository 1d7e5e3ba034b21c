// The terminal of `vramspan top`: a screen of its own and keys without echo, and as it was before
// on every way out, signals included.
//
// Threads: one. One lives at a time.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_TOP_TERMINAL_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_TOP_TERMINAL_H_

#include <termios.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "tools/vramspan/top_view.h"

namespace vramspan::top {

class Terminal {
 public:
  // An error: stdin or stdout is none.
  static StatusOr<std::unique_ptr<Terminal>> Open();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  std::pair<size_t, size_t> Size() const;  // Columns and lines.
  // False: nobody shows it any more.
  bool Draw(const std::vector<ScreenLine>& lines) const;

  struct Input {
    std::string bytes;
    bool again = false;  // It is to be drawn anew.
    int signal = 0;      // That is to end the process.
    bool gone = false;
  };
  // Waits at most so long. Stops, and goes on, as the user wants it.
  Input Read(std::chrono::milliseconds patience);

 private:
  Terminal() = default;
  Status Begin();
  void Enter() const;
  void Leave() const;
  void Stop() const;

  int signals_ = -1;
  sigset_t before_{};
  bool taken_ = false;
};

}  // namespace vramspan::top

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_TOP_TERMINAL_H_
