// `vramspan top` on a terminal: keys, the picture, and the terminal as it was.
#include <gmock/gmock.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>

#include <chrono>
#include <csignal>
#include <functional>

#include "tests/tools/live_records.h"
#include "tools/vramspan/top_keys.h"
#include "tools/vramspan/top_view.h"

namespace vramspan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using top::Key;

TEST(TopKeys, AreReadFromWhatTerminalsSend) {
  top::KeyReader keys;
  EXPECT_THAT(keys.Feed("qjk sph?\r"),
              ElementsAre(Key::kQuit, Key::kDown, Key::kUp, Key::kHold, Key::kSort, Key::kHold,
                          Key::kHelp, Key::kHelp, Key::kEnter));
  EXPECT_THAT(keys.Feed("\x1b[A\x1bOB\x1b[17~\x1b[1~x"),
              ElementsAre(Key::kUp, Key::kDown, Key::kSort, Key::kFirst));
}

TEST(TopKeys, MayComeInPieces) {
  top::KeyReader keys;
  EXPECT_THAT(keys.Feed("\x1b"), IsEmpty());
  EXPECT_TRUE(keys.waits());
  EXPECT_THAT(keys.Feed("[1"), IsEmpty());
  EXPECT_THAT(keys.Feed("7~"), ElementsAre(Key::kSort));
  EXPECT_THAT(keys.Feed("\x1b"), IsEmpty());
  EXPECT_THAT(keys.Wait(), ElementsAre(Key::kEscape)) << "nothing followed";
  EXPECT_THAT(keys.Wait(), IsEmpty());
}

TEST(TopKeys, WhatIsUnknownIsNoneAndEnds) {
  top::KeyReader keys;
  EXPECT_THAT(keys.Feed("\x1b[99;99~\xff\x01zZ"), IsEmpty());
  EXPECT_THAT(keys.Feed("\x1b[" + std::string(1000, '1')), IsEmpty());
  EXPECT_THAT(keys.Wait(), IsEmpty());
  EXPECT_THAT(keys.Feed("q"), ElementsAre(Key::kQuit));
}

std::vector<top::Row> Rows(int count) {
  std::vector<top::Row> rows(static_cast<size_t>(count));
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].seen.record.pid = static_cast<uint32_t>(100 + i);
    rows[i].seen.command = "program" + std::to_string(100 + i);
    rows[i].rates.in = static_cast<double>(count) - static_cast<double>(i);
  }
  return rows;
}

std::string Text(const std::vector<top::ScreenLine>& lines) {
  std::string text;
  for (const top::ScreenLine& line : lines) text += line.text + "\n";
  return text;
}

std::string Marked(const top::View& view) {
  std::string text;
  for (const top::ScreenLine& line : view.Lines(200, 24)) {
    if (line.marked && line.text.find("COMMAND") == std::string::npos) text += line.text;
  }
  return text;
}

TEST(TopView, AChosenProcessStaysChosen) {
  top::View view;
  view.Show(Rows(3), {}, 1);
  EXPECT_THAT(Marked(view), HasSubstr("program100"));
  view.Press(Key::kDown);
  EXPECT_THAT(Marked(view), HasSubstr("program101"));
  std::vector<top::Row> rows = Rows(3);
  rows[2].rates.in = 99;
  view.Show(rows, {}, 2);
  EXPECT_THAT(Marked(view), HasSubstr("program101")) << "others came before it";
  rows.erase(rows.begin() + 1);
  view.Show(rows, {}, 3);
  EXPECT_THAT(Marked(view), HasSubstr("program102")) << "it has ended: the first is";
}

TEST(TopView, NothingIsTooSmallForIt) {
  top::View view;
  for (const int rows : {0, 1, 100}) {
    view.Show(Rows(rows), {"a note"}, 1);
    for (const Key key : {Key::kLast, Key::kUp, Key::kEnter, Key::kEnter, Key::kHelp, Key::kEscape,
                          Key::kSort, Key::kDown, Key::kDown, Key::kFirst, Key::kUp}) {
      view.Press(key);
      for (const size_t width : {0, 1, 80}) {
        for (const size_t height : {0, 1, 2, 3, 24}) {
          const auto lines = view.Lines(width, height);
          EXPECT_LE(lines.size(), height);
          for (const top::ScreenLine& line : lines) EXPECT_LE(line.text.size(), width);
        }
      }
    }
  }
}

TEST(TopView, OneFarDownIsScrolledTo) {
  top::View view;
  view.Show(Rows(100), {}, 1);
  view.Press(Key::kLast);
  EXPECT_THAT(Text(view.Lines(200, 10)), HasSubstr("program199"));
}

TEST(TopView, AHeldPictureStays) {
  top::View view;
  view.Show(Rows(1), {}, 1);
  view.Press(Key::kHold);
  view.Show(Rows(5), {}, 2);
  EXPECT_THAT(Text(view.Lines(200, 24)), HasSubstr("1 shown, sorted by IN/s, held"));
  view.Press(Key::kHold);
  view.Show(Rows(5), {}, 2);
  EXPECT_THAT(Text(view.Lines(200, 24)), HasSubstr("5 shown"));
}

TEST(TopView, SortingGoesThroughTheColumns) {
  top::View view;
  std::vector<top::Row> rows = Rows(2);
  rows[1].rates.out = 5;
  view.Show(rows, {}, 1);
  view.Press(Key::kSort);
  const std::string text = Text(view.Lines(200, 24));
  EXPECT_THAT(text, HasSubstr("sorted by OUT/s"));
  EXPECT_LT(text.find("program101"), text.find("program100"));
}

TEST(TopView, EnterShowsDecisionsAndGoesBack) {
  top::View view;
  view.Show(Rows(2), {}, 1);
  view.Press(Key::kEnter);
  EXPECT_THAT(Text(view.Lines(200, 24)), HasSubstr("last decisions"));
  view.Show({}, {}, 2);
  EXPECT_THAT(Text(view.Lines(200, 24)), HasSubstr("the process has ended"));
  view.Press(Key::kEnter);
  EXPECT_THAT(Text(view.Lines(200, 24)), HasSubstr("no program of this user"));
}

// The binary on a terminal of the test's.
class TopScreen : public LiveRecords {
 protected:
  ~TopScreen() override {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    if (terminal_ >= 0) close(terminal_);
    if (other_ >= 0) close(other_);
  }

  void Start() {
    winsize size{};
    size.ws_col = 160;
    size.ws_row = 30;
    ASSERT_EQ(openpty(&terminal_, &other_, nullptr, nullptr, &size), 0);
    ASSERT_EQ(tcgetattr(other_, &before_), 0);
    child_ = fork();
    if (child_ == 0) {
      // Its terminal, as for a program that a shell starts.
      setsid();
      ioctl(other_, TIOCSCTTY, 0);
      for (int fd = 0; fd < 3; ++fd) dup2(other_, fd);
      setenv("XDG_RUNTIME_DIR", run().c_str(), 1);
      const std::string own = pid_text_;
      execl(VRAMSPAN_BINARY, "vramspan", "top", own.c_str(), "--interval", "0.5", nullptr);
      _exit(127);
    }
  }
  void Send(const std::string& keys) {
    ASSERT_EQ(write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  // Reads until it has shown that, behind what was looked for before.
  bool Shows(const std::string& text) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (true) {
      const size_t at = screen_.find(text, looked_);
      if (at != std::string::npos) {
        looked_ = at + text.size();
        return true;
      }
      pollfd polled{terminal_, POLLIN, 0};
      if (std::chrono::steady_clock::now() > until || poll(&polled, 1, 1000) < 0) return false;
      if ((polled.revents & POLLIN) == 0) continue;
      char bytes[4096];
      const ssize_t size = read(terminal_, bytes, sizeof(bytes));
      if (size <= 0) return false;
      screen_.append(bytes, static_cast<size_t>(size));
    }
  }
  int Ended() {
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void ExpectTerminalAsItWas() {
    termios now{};
    ASSERT_EQ(tcgetattr(other_, &now), 0);
    EXPECT_EQ(now.c_lflag, before_.c_lflag);
    EXPECT_EQ(now.c_iflag, before_.c_iflag);
    EXPECT_TRUE(Shows("\x1b[?1049l")) << "the screen that was there before";
  }

  const std::string pid_text_ = std::to_string(getpid());
  int terminal_ = -1, other_ = -1;
  pid_t child_ = -1;
  termios before_{};
  std::string screen_;
  size_t looked_ = 0;
};

TEST_F(TopScreen, KeysDoWhatTheHelpSays) {
  Write(Own(1));
  Start();
  ASSERT_TRUE(Shows("\x1b[?1049h"));
  ASSERT_TRUE(Shows("1 shown, sorted by IN/s"));
  termios raw{};
  ASSERT_EQ(tcgetattr(other_, &raw), 0);
  EXPECT_EQ(raw.c_lflag & (ICANON | ECHO), 0u);
  Send("s");
  EXPECT_TRUE(Shows("sorted by OUT/s"));
  Send("\x1b[17~");
  EXPECT_TRUE(Shows("sorted by LINK%"));
  Send("h");
  EXPECT_TRUE(Shows("hold the picture, and go on"));
  Send("\x1b");
  EXPECT_TRUE(Shows("COMMAND"));
  Send("\r");
  EXPECT_TRUE(Shows("last decisions"));
  Send("p");
  EXPECT_TRUE(Shows("held (p goes on)"));
  Send("q");
  EXPECT_EQ(Ended(), 0);
  ExpectTerminalAsItWas();
}

TEST_F(TopScreen, WhatIsNewIsShown) {
  LiveRecord r = Own(1);
  Write(r);
  Start();
  ASSERT_TRUE(Shows("1 shown"));
  r.device_used = r.charged_bytes = uint64_t{777} << 20;
  r.written = top::SteadyNow();
  Write(r);
  EXPECT_TRUE(Shows("777M"));
  Send("q");
  EXPECT_EQ(Ended(), 0);
}

TEST_F(TopScreen, SignalsEndItWithTheTerminalAsItWas) {
  Write(Own(1));
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV}) {
    SCOPED_TRACE(signal);
    Start();
    ASSERT_TRUE(Shows("1 shown"));
    kill(child_, signal);
    EXPECT_EQ(Ended(), 128 + signal);
    ExpectTerminalAsItWas();
    close(terminal_);
    close(other_);
    screen_.clear();
    looked_ = 0;
  }
}

TEST_F(TopScreen, ControlCEndsIt) {
  Write(Own(1));
  Start();
  ASSERT_TRUE(Shows("1 shown"));
  Send("\x03");
  EXPECT_EQ(Ended(), 128 + SIGINT);
  ExpectTerminalAsItWas();
}

TEST_F(TopScreen, StoppedItGivesTheTerminalBackAndTakesItAgain) {
  Write(Own(1));
  Start();
  ASSERT_TRUE(Shows("1 shown"));
  kill(child_, SIGTSTP);
  int status = 0;
  ASSERT_EQ(waitpid(child_, &status, WUNTRACED), child_);
  ASSERT_TRUE(WIFSTOPPED(status));
  ExpectTerminalAsItWas();
  kill(child_, SIGCONT);
  EXPECT_TRUE(Shows("\x1b[?1049h"));
  EXPECT_TRUE(Shows("1 shown"));
  Send("q");
  EXPECT_EQ(Ended(), 0);
}

}  // namespace
}  // namespace vramspan
