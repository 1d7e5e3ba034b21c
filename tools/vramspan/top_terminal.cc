#include "tools/vramspan/top_terminal.h"

#include <absl/strings/str_cat.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace vramspan::top {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?25h\x1b[?1049l";
constexpr int kWatched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP, SIGCONT, SIGWINCH};
constexpr int kFatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// For handlers, which know nothing else.
termios as_it_was;

bool Write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

void Restore() {
  static_cast<void>(Write(kLeave));
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &as_it_was);
}

// By default it ends the process when this returns.
void RestoreAndDie(int signal) {
  Restore();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

StatusOr<std::unique_ptr<Terminal>> Terminal::Open() {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) {
    return absl::FailedPreconditionError("stdin or stdout is no terminal; use --once");
  }
  std::unique_ptr<Terminal> terminal(new Terminal());
  VS_RETURN_IF_ERROR(terminal->Begin());
  return terminal;
}

Status Terminal::Begin() {
  if (tcgetattr(STDIN_FILENO, &as_it_was) != 0) {
    return absl::UnavailableError("the terminal does not say how it is set");
  }
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : kWatched) sigaddset(&watched, signal);
  if (sigprocmask(SIG_BLOCK, &watched, &before_) != 0) {
    return absl::UnavailableError("signals cannot be held back");
  }
  taken_ = true;
  signals_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) return absl::UnavailableError("there is no descriptor for signals");
  for (const int signal : kFatal) std::signal(signal, &RestoreAndDie);
  Enter();
  return absl::OkStatus();
}

Terminal::~Terminal() {
  if (signals_ >= 0) {
    for (const int signal : kFatal) std::signal(signal, SIG_DFL);
    Leave();
    close(signals_);
  }
  if (taken_) sigprocmask(SIG_SETMASK, &before_, nullptr);
}

void Terminal::Enter() const {
  termios raw = as_it_was;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
  static_cast<void>(Write(kEnter));
}

void Terminal::Leave() const { Restore(); }

void Terminal::Stop() const {
  Leave();
  // As if nobody had caught it; goes on with SIGCONT.
  raise(SIGSTOP);
  Enter();
}

std::pair<size_t, size_t> Terminal::Size() const {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    return {80, 24};
  }
  return {size.ws_col, size.ws_row};
}

bool Terminal::Draw(const std::vector<ScreenLine>& lines) const {
  std::string text = "\x1b[H";
  const char* between = "";
  for (const ScreenLine& line : lines) {
    absl::StrAppend(&text, between, line.marked ? "\x1b[7m" : "", line.text,
                    line.marked ? "\x1b[0m" : "", "\x1b[K");
    between = "\r\n";
  }
  return Write(text + "\x1b[J");
}

Terminal::Input Terminal::Read(std::chrono::milliseconds patience) {
  Input input;
  pollfd polled[2] = {{STDIN_FILENO, POLLIN, 0}, {signals_, POLLIN, 0}};
  if (poll(polled, 2, static_cast<int>(patience.count())) <= 0) return input;
  if (polled[0].revents != 0) {
    char bytes[256];
    const ssize_t size = read(STDIN_FILENO, bytes, sizeof(bytes));
    if (size > 0) {
      input.bytes.assign(bytes, static_cast<size_t>(size));
    } else {
      input.gone = size == 0 || (errno != EINTR && errno != EAGAIN);
    }
  }
  signalfd_siginfo told{};
  while (read(signals_, &told, sizeof(told)) == static_cast<ssize_t>(sizeof(told))) {
    const auto signal = static_cast<int>(told.ssi_signo);
    input.again = true;
    if (signal == SIGTSTP) {
      Stop();
    } else if (signal != SIGCONT && signal != SIGWINCH) {
      input.signal = signal;
    }
  }
  return input;
}

}  // namespace vramspan::top
