// A program that says what it finds of a reader beside it:
//
//   lone_program [exit:CODE]
//
// Whether it has a child, or was told that one ended; the reader's words; and what is open there.
#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <thread>

namespace {

// Whether one was found.
bool SayReaders(const char* folder) {
  bool found = false;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    std::string words{std::istreambuf_iterator<char>(file), {}};
    if (words.find(folder) == std::string::npos ||
        entry.path().filename() == std::to_string(getpid())) {
      continue;
    }
    found = true;
    for (char& c : words) c = c == '\0' ? ' ' : c;
    std::printf("reader %s\n", words.c_str());
    for (const auto& open : std::filesystem::directory_iterator(entry.path() / "fd", error)) {
      std::printf("open %s\n", std::filesystem::read_symlink(open.path(), error).c_str());
    }
    std::ifstream variables(entry.path() / "environ", std::ios::binary);
    const std::string all{std::istreambuf_iterator<char>(variables), {}};
    const bool ours =
        all.find("VRAMSPAN_") != std::string::npos || all.find("LD_PRELOAD=") != std::string::npos;
    std::printf("variables %s\n", ours ? "of vramspan" : "of the user");
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  const pid_t waited = wait(nullptr);
  std::printf("wait %s\n", waited < 0 && errno == ECHILD ? "none" : "a child");
  sigset_t pending;
  sigpending(&pending);
  std::printf("signal %s\n", sigismember(&pending, SIGCHLD) != 0 ? "pending" : "none");
  const char* const folder = std::getenv("VRAMSPAN_READER");
  std::printf("folder %s\n", folder == nullptr ? "none" : folder);
  // It has no words before the kernel has made it the program that it is.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (folder != nullptr && !SayReaders(folder) && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::fflush(stdout);
  const std::string last = argv[argc - 1];
  return last.starts_with("exit:") ? std::atoi(last.c_str() + 5) : 0;
}
