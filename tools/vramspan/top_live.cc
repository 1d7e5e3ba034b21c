#include "tools/vramspan/top_live.h"

#include <algorithm>
#include <csignal>
#include <memory>

#include "tools/vramspan/top_terminal.h"

namespace vramspan::top {
namespace {

using Clock = std::chrono::steady_clock;

// Between an escape and what follows it, where one key sends both.
constexpr std::chrono::milliseconds kWithinKey{50};

// The signal that ended it; 0: none did.
int Loop(Terminal* terminal, const std::function<void(View*)>& look,
         std::chrono::nanoseconds each) {
  View view;
  KeyReader keys;
  Clock::time_point next;
  for (bool draw = true; !view.ended();) {
    if (const auto now = Clock::now(); now >= next) {
      look(&view);
      next = now + each;
      draw = true;
    }
    if (draw) {
      const auto [columns, lines] = terminal->Size();
      if (!terminal->Draw(view.Lines(columns, lines))) return 0;
    }
    auto patience = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
    if (keys.waits()) patience = std::min(patience, kWithinKey);
    const Terminal::Input input = terminal->Read(std::max(patience, std::chrono::milliseconds(0)));
    if (input.signal != 0 || input.gone) return input.signal;
    const std::vector<Key> pressed = input.bytes.empty() ? keys.Wait() : keys.Feed(input.bytes);
    for (const Key key : pressed) view.Press(key);
    draw = input.again || !pressed.empty();
  }
  return 0;
}

}  // namespace

Status ShowLive(const std::function<void(View*)>& look, std::chrono::nanoseconds each) {
  int signal = 0;
  {
    VS_ASSIGN_OR_RETURN(const std::unique_ptr<Terminal> terminal, Terminal::Open());
    signal = Loop(terminal.get(), look, each);
  }
  if (signal != 0) {
    std::signal(signal, SIG_DFL);
    raise(signal);
  }
  return absl::OkStatus();
}

}  // namespace vramspan::top
