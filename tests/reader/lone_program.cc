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
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

int main(int argc, char** argv) {
  const pid_t waited = wait(nullptr);
  std::printf("wait %s\n", waited < 0 && errno == ECHILD ? "none" : "a child");
  sigset_t pending;
  sigpending(&pending);
  std::printf("signal %s\n", sigismember(&pending, SIGCHLD) != 0 ? "pending" : "none");
  const char* const folder = std::getenv("VRAMSPAN_READER");
  std::printf("folder %s\n", folder == nullptr ? "none" : folder);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    std::string words{std::istreambuf_iterator<char>(file), {}};
    if (folder == nullptr || words.find(folder) == std::string::npos ||
        entry.path().filename() == std::to_string(getpid())) {
      continue;
    }
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
  std::fflush(stdout);
  const std::string last = argv[argc - 1];
  return last.starts_with("exit:") ? std::atoi(last.c_str() + 5) : 0;
}
