#include "tests/hostile/kills.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

namespace vramspan_test {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::string TextOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::set<std::string> NamesIn(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

void Kills::SetUp() {
  std::string made = (fs::temp_directory_path() / "vramspan-kill-XXXXXX").string();
  ASSERT_NE(mkdtemp(made.data()), nullptr);
  folder_ = made;
  fs::create_directory(work());
  fs::create_directory(tmp());
  const char* const seed = std::getenv("VRAMSPAN_KILL_SEED");
  random_.seed(seed != nullptr ? std::strtoull(seed, nullptr, 10) : 1);
}

void Kills::TearDown() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

int Kills::Times() { return std::getenv("VRAMSPAN_NIGHTLY") != nullptr ? 200 : 4; }

// In a process group of its own.
pid_t Kills::Start(const std::string& text) const {
  const std::string command = "cd '" + work().string() +
                              "'; unset VRAMSPAN_DRIVER VRAMSPAN_TRACER; export TMPDIR='" +
                              tmp().string() +
                              "' SIMCUDA_DEVICE_MEMORY=256MiB LD_LIBRARY_PATH='" SIMCUDA_FOLDER
                              "' ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0; exec " +
                              text + " >/dev/null 2>'" + (folder_ / "err").string() + "'";
  const pid_t child = fork();
  if (child != 0) return child;
  setpgid(0, 0);
  execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  _exit(127);
}

int Kills::Run(const std::string& text) const {
  int status = -1;
  waitpid(Start(text), &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void Kills::ExpectNoProcess(pid_t leader) {
  // What a killed process had mapped goes with it, and that takes its time.
  const auto end = Clock::now() + std::chrono::seconds(20);
  while (kill(-leader, 0) == 0 && Clock::now() < end) usleep(1000);
  EXPECT_TRUE(kill(-leader, 0) != 0 && errno == ESRCH) << "a process stays";
  const std::string socket = "@vramspan-ipc-" + std::to_string(leader) + "-";
  EXPECT_EQ(TextOf("/proc/net/unix").find(socket), std::string::npos);
}

void Kills::KillOften(const std::string& text, const std::function<void()>& check) {
  const auto begin = Clock::now();
  ASSERT_EQ(Run(text), 0) << text << ": " << err();
  auto whole = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin);
  check();
  int late = 0;
  for (int killed = 0; killed < Times() && !HasFailure();) {
    const auto moment = std::chrono::microseconds(
        static_cast<int64_t>(random_() % static_cast<uint64_t>(whole.count())));
    SCOPED_TRACE(text + ", kill " + std::to_string(killed) + " after " +
                 std::to_string(moment.count()) + " us");
    const pid_t child = Start(text);
    std::this_thread::sleep_for(moment);
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ExpectNoProcess(child);
    check();
    if (WIFSIGNALED(status)) {
      ++killed;
    } else {
      // It takes less time than it did.
      whole -= whole / 10;
      ASSERT_LT(++late, 100 + Times()) << "it ends before it is killed";
    }
  }
}

}  // namespace vramspan_test
