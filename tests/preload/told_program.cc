#include "tests/preload/told_program.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace vramspan_test {
namespace {

using std::chrono::milliseconds;

// A link to the preload's folder, since the loader takes spaces and colons for separators.
std::string PreloadByLink(const std::string& folder) {
  const std::filesystem::path path(PRELOAD_LIBRARY);
  const std::string link = folder + "/preload";
  std::error_code there;
  std::filesystem::create_directory_symlink(path.parent_path(), link, there);
  return link + "/" + path.filename().string();
}

}  // namespace

ToldProgram::ToldProgram(const std::string& folder,
                         const std::map<std::string, std::string>& environment) {
  static std::atomic<int> count{0};
  folder_ = folder + "/program" + std::to_string(++count);
  std::filesystem::create_directory(folder_);
  std::vector<std::string> words = {"env",
                                    "-u",
                                    "VRAMSPAN_DRIVER",
                                    "-u",
                                    "VRAMSPAN_TRACER",
                                    "LD_LIBRARY_PATH=" SIMCUDA_FOLDER,
                                    "LD_PRELOAD=" + PreloadByLink(folder_),
                                    "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0"};
  for (const auto& [name, value] : environment) words.push_back(name + "=" + value);
  for (const char* word : {PROGRAM_LINKED_PATH, "linked", "as_told"}) words.push_back(word);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) abort();
  const std::string err = folder_ + "/err";
  // One that has ended reads nothing any more.
  std::signal(SIGPIPE, SIG_IGN);
  pid_ = fork();
  if (pid_ == 0) {
    std::signal(SIGPIPE, SIG_DFL);
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    execvp("env", arguments.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  in_ = in[1];
  out_ = out[0];
}

ToldProgram::~ToldProgram() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(in_);
  close(out_);
}

std::string ToldProgram::Line(milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (true) {
    const size_t end = read_.find('\n');
    if (end != std::string::npos) {
      const std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
    pollfd polled{out_, POLLIN, 0};
    if (left.count() <= 0 || poll(&polled, 1, static_cast<int>(left.count())) != 1) return "";
    char buffer[256];
    const ssize_t size = read(out_, buffer, sizeof(buffer));
    if (size <= 0) return "";
    read_.append(buffer, static_cast<size_t>(size));
  }
}

void ToldProgram::Tell(const std::string& line) {
  const std::string text = line + "\n";
  static_cast<void>(!write(in_, text.data(), text.size()));
}

int ToldProgram::End() {
  Tell("end");
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void ToldProgram::Signal(int signal) { kill(pid_, signal); }

std::string ToldProgram::err() const {
  std::ifstream file(folder_ + "/err");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace vramspan_test
