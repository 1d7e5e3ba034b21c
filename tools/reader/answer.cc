#include "tools/reader/answer.h"

#include <absl/cleanup/cleanup.h>
#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tools/prove/disassembler.h"
#include "tools/reader/desk.h"
#include "tools/reader/exchange.h"
#include "tools/reader/kept_readings.h"
#include "tools/reader/meeting.h"
#include "tools/reader/program_end.h"

namespace vramspan::reader {
namespace {

// Memory is short where code is read: this goes before the program does. What it starts is as it
// is.
void GoFirst() {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  // It is no worse than the program where this cannot be.
  [[maybe_unused]] const ssize_t wrote = write(fd, "1000", 4);
  close(fd);
}

// Several threads work, at the least priority: one alone has not read all code when a first run of
// some seconds ends (docs/findings/0065-predicates-that-are-put-by.md).
void StartWork(Desk* desk) {
  constexpr unsigned kLeast = 2, kMost = 4, kCoresOfOne = 4;
  const unsigned count =
      std::clamp(std::thread::hardware_concurrency() / kCoresOfOne, kLeast, kMost);
  const auto start = [desk] { std::thread([desk] { desk->Work(); }).detach(); };
  start();
  try {
    for (unsigned i = 1; i < count; ++i) start();
  } catch (const std::system_error&) {
    // Fewer take longer, and no more.
  }
}

// To be polled: something has happened to the folder, or was asked.
StatusOr<int> Watch(const std::string& folder) {
  const int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd >= 0 &&
      inotify_add_watch(fd, absl::StrCat(folder, "/", kAsked).c_str(), IN_MODIFY | IN_ATTRIB) >=
          0 &&
      inotify_add_watch(fd, folder.c_str(), IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR) >= 0) {
    return fd;
  }
  const int error = errno;
  if (fd >= 0) close(fd);
  return absl::UnavailableError(absl::StrCat("inotify: ", std::strerror(error)));
}

void Drain(int fd) {
  std::array<char, 4096> events;
  while (read(fd, events.data(), events.size()) > 0) {
  }
}

// Those that can be used: a file system that hangs would keep this process for good.
std::optional<KeyedFiles> FilesToUse() {
  StatusOr<KeyedFiles> files = KeyedFiles::OfUser(kReadFiles);
  if (!files.ok() || !files->Check().ok()) return std::nullopt;
  return *std::move(files);
}

// Whatever is being read ends, too: a disassembler may work for minutes, and has children if it is
// a script. All of them are in this process's group.
[[noreturn]] void End(const Exchange& exchange, KeptReadings* kept) {
  if (kept != nullptr) kept->Stop();
  exchange.Remove();
  if (getpgrp() == getpid()) kill(0, SIGKILL);
  _exit(0);
}

}  // namespace

Status AnswerReadings(const std::string& folder, pid_t program, std::optional<uint64_t> start) {
  // It is removed, so nothing else is to be given.
  if (!IsMeetingName(std::filesystem::path(folder).filename().string())) {
    return absl::InvalidArgumentError("it is no folder in which a program and its reader meet");
  }
  const absl::Cleanup goes = [&folder] { RemoveExchange(folder); };
  VS_ASSIGN_OR_RETURN(const std::unique_ptr<Exchange> exchange, Exchange::Open(folder));
  const ProgramEnd end(program, start);
  const StatusOr<int> watched = Watch(folder);
  GoFirst();
  // A leader of a group already is one of its own.
  static_cast<void>(setpgid(0, 0));
  std::unique_ptr<KeptReadings> kept;
  std::unique_ptr<Desk> desk;
  try {
    AskLines lines;
    std::vector<Ask> asks;
    // Without a watch, as where the user has too many, it looks. So it does for the program's end.
    const bool looks = !watched.ok() || end.fd() < 0;
    while (!end.Ended() && !exchange->Gone()) {
      asks.clear();
      if (!exchange->TakeAsked(&lines, &asks).ok()) break;
      if (!asks.empty() && desk == nullptr) {
        StatusOr<prove::Disassembler> nvdisasm = prove::Disassembler::Find("");
        kept = std::make_unique<KeptReadings>(FilesToUse(), RulesOf(nvdisasm));
        desk = std::make_unique<Desk>(*exchange, *kept, std::move(nvdisasm));
        StartWork(desk.get());
      }
      if (!asks.empty()) desk->Take(asks);
      pollfd fds[] = {{watched.ok() ? *watched : -1, POLLIN, 0}, {end.fd(), POLLIN, 0}};
      poll(fds, 2, looks ? static_cast<int>(ProgramEnd::kLooks.count()) : -1);
      if (watched.ok()) Drain(*watched);
    }
  } catch (const std::exception&) {
    // No thread can be started, or there is no memory. The program sees that the folder is gone.
  }
  End(*exchange, kept.get());
}

}  // namespace vramspan::reader
