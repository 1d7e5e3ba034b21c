#include "tests/broker/server/daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/base/log.h"
#include "tools/broker/control/ask.h"

namespace vramspan::broker_test {
namespace {

constexpr int kPatienceMs = 30'000;

constexpr int kHigh = 900;

// In the child: only what is kept for it stays open, from 3 on.
void HandOn(const Daemon::How& how) {
  const int count = static_cast<int>(how.kept.size());
  for (int i = 0; i < count; ++i) dup2(how.kept[static_cast<size_t>(i)].second, kHigh + i);
  for (int fd = 3; fd < kHigh; ++fd) close(fd);
  std::string names;
  for (int i = 0; i < count; ++i) {
    dup2(kHigh + i, 3 + i);
    names += (i > 0 ? ":" : "") + how.kept[static_cast<size_t>(i)].first;
  }
  for (int fd = kHigh; fd < 1024; ++fd) close(fd);
  if (!how.notify.empty()) setenv("NOTIFY_SOCKET", how.notify.c_str(), 1);
  if (count == 0) return;
  setenv("LISTEN_PID", std::to_string(getpid() + (how.kept_for_another ? 1 : 0)).c_str(), 1);
  setenv("LISTEN_FDS", std::to_string(count).c_str(), 1);
  setenv("LISTEN_FDNAMES", names.c_str(), 1);
}

}  // namespace

Daemon::~Daemon() {
  if (pid_ > 0) {
    // A build with sanitizers has something to say then.
    Signal(SIGCONT);
    const int code = End();
    while (code != 0 && ReadMore()) {
    }
    if (code != 0) fprintf(stderr, "the daemon ended with %d: %s\n", code, said_.c_str());
    VS_CHECK(code == 0);
  }
  if (errors_ >= 0) close(errors_);
}

void Daemon::Spawn(const How& how) {
  std::filesystem::create_directories(folder_.path() + "/proc");
  std::filesystem::create_directories(config() + "/tenants.d");
  // 16 GiB of host memory, of which others use all but four.
  std::ofstream(folder_.path() + "/proc/meminfo")
      << "MemTotal: 16777216 kB\nMemAvailable: 4194304 kB\n";
  if (errors_ >= 0) close(errors_);
  said_.clear();
  int ends[2];
  VS_CHECK(pipe(ends) == 0);
  pid_ = fork();
  VS_CHECK(pid_ >= 0);
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(ends[1], STDERR_FILENO);
    HandOn(how);
    if (how.descriptors > 0) {
      const rlimit limit = {how.descriptors, how.descriptors};
      setrlimit(RLIMIT_NOFILE, &limit);
    }
    setenv("LD_LIBRARY_PATH", FAKE_NVML_FOLDER, 1);
    setenv("FAKE_NVML_USE", (folder_.path() + "/use").c_str(), 1);
    // Another build of it, as one with sanitizers.
    const char* const named = getenv("VRAMSPAN_BROKER_DAEMON");
    const std::string daemon = named == nullptr ? BROKER_DAEMON : named;
    std::vector<std::string> words = {
        daemon, "--run-directory", run(), "--config", config(), "--proc", folder_.path() + "/proc"};
    if (!how.capacity.empty()) words.insert(words.end(), {"--capacity", how.capacity});
    words.insert(words.end(), how.options.begin(), how.options.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(daemon.c_str(), arguments.data());
    _exit(127);
  }
  close(ends[1]);
  errors_ = ends[0];
}

void Daemon::Start(const How& how) {
  Spawn(how);
  WaitToSay("listens at");
}

std::string Daemon::StartInVain(const How& how) {
  Spawn(how);
  while (ReadMore()) {
  }
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
  return said_;
}

bool Daemon::ReadMore() {
  pollfd poll = {.fd = errors_, .events = POLLIN, .revents = 0};
  if (::poll(&poll, 1, kPatienceMs) != 1) {
    fprintf(stderr, "the daemon has said, and nothing since: %s\n", said_.c_str());
    VS_CHECK(false);
  }
  char text[4096];
  const ssize_t size = read(errors_, text, sizeof text);
  if (size <= 0) return false;
  said_.append(text, static_cast<size_t>(size));
  return true;
}

void Daemon::ReadWhatIsThere() {
  pollfd poll = {.fd = errors_, .events = POLLIN, .revents = 0};
  while (::poll(&poll, 1, 0) == 1 && ReadMore()) {
  }
}

void Daemon::WaitToSay(const std::string& text) {
  while (said_.find(text) == std::string::npos) {
    if (!ReadMore()) {
      fprintf(stderr, "the daemon ended, and had said: %s\n", said_.c_str());
      VS_CHECK(false);
    }
  }
}

void Daemon::Signal(int number) const { VS_CHECK(kill(pid_, number) == 0); }

void Daemon::Kill() {
  Signal(SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

int Daemon::End() {
  Signal(SIGTERM);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void Daemon::FillItsPipe() const {
  const int fd =
      open(("/proc/self/fd/" + std::to_string(errors_)).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  VS_CHECK(fd >= 0);
  while (write(fd, "x\n", 2) == 2) {
  }
  close(fd);
}

double Daemon::CpuSeconds() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/schedstat");
  uint64_t nanoseconds = 0;
  file >> nanoseconds;
  return static_cast<double>(nanoseconds) * 1e-9;
}

std::vector<std::string> Daemon::Ask(const std::string& request) const {
  std::vector<std::string> answers;
  const Status asked = broker::Ask(run(), request, [&](const std::string& line) {
    answers.push_back(line);
    const auto answer = nlohmann::json::parse(line);
    return answer["kind"] != "end" && answer["kind"] != "done" && answer["kind"] != "error";
  });
  if (!asked.ok()) answers.push_back(asked.ToString());
  return answers;
}

std::string Daemon::Set(const std::string& tenant, const std::string& key,
                        const std::string& value) const {
  const nlohmann::json request = {{"verb", "set"}, {"tenant", tenant}, {"changes", {{key, value}}}};
  return nlohmann::json::parse(Ask(request.dump()).at(0)).value("error", "");
}

void Daemon::WriteTenant(const std::string& file, const std::string& text) const {
  std::filesystem::create_directories(config() + "/tenants.d");
  std::ofstream(config() + "/tenants.d/" + file) << text;
}

void Daemon::RemoveTenant(const std::string& file) const {
  std::filesystem::remove(config() + "/tenants.d/" + file);
}

void Daemon::PutInto(pid_t pid, const std::string& cgroup) const {
  const std::string folder = folder_.path() + "/proc/" + std::to_string(pid);
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/cgroup") << "0::" << cgroup << "\n";
}

void Daemon::ShowUse(const std::string& text) const {
  const std::string next = folder_.path() + "/use.new";
  std::ofstream(next) << text;
  std::filesystem::rename(next, folder_.path() + "/use");
}

}  // namespace vramspan::broker_test
