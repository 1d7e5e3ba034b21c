// What a stand-in of systemd hears of the daemon, and keeps of it over a restart.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tests/broker/server/program.h"

namespace vramspan::broker_test {
namespace {

using Kept = std::vector<std::pair<std::string, int>>;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int kNewsMs = 40'000;

int BoundAt(const std::string& path, int type) {
  const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  VS_CHECK(path.size() < sizeof address.sun_path);
  memcpy(address.sun_path, path.data(), path.size());
  VS_CHECK(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return fd;
}

class Systemd {
 public:
  Systemd() : fd_(BoundAt(path(), SOCK_DGRAM)) {}
  ~Systemd() {
    close(fd_);
    for (const auto& [name, fd] : kept_) close(fd);
  }
  Systemd(const Systemd&) = delete;
  Systemd& operator=(const Systemd&) = delete;

  std::string path() const { return folder_.path() + "/notify"; }
  // Hears all until the daemon is ready.
  void AwaitReady() {
    while (heard_.empty() || heard_.back() != "READY=1") Hear();
  }
  // There is no room for another word, until what is there is taken.
  void Fill() {
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, path().data(), path().size());
    const auto* const to = reinterpret_cast<const sockaddr*>(&address);
    while (sendto(fd, "x", 1, 0, to, sizeof address) == 1) {
    }
    VS_CHECK(errno == EAGAIN);
    close(fd);
  }
  void Empty() const {
    char text[16];
    while (recv(fd_, text, sizeof text, MSG_DONTWAIT) == 1) {
    }
  }
  const Kept& kept() const { return kept_; }
  const std::vector<std::string>& heard() const { return heard_; }
  void Clear() { heard_.clear(); }

 private:
  void Hear() {
    pollfd poll = {fd_, POLLIN, 0};
    VS_CHECK(::poll(&poll, 1, kNewsMs) == 1);
    char text[4096];
    iovec vector = {text, sizeof text};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message = {};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t size = recvmsg(fd_, &message, MSG_CMSG_CLOEXEC);
    VS_CHECK(size >= 0);
    const std::string said(text, static_cast<size_t>(size));
    heard_.push_back(said);
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header == nullptr) return;
    const std::string before = "FDSTORE=1\nFDNAME=";
    VS_CHECK(said.starts_with(before) && header->cmsg_type == SCM_RIGHTS);
    int fd = -1;
    memcpy(&fd, CMSG_DATA(header), sizeof fd);
    kept_.emplace_back(said.substr(before.size()), fd);
  }

  const TemporaryFolder folder_;
  const int fd_;
  Kept kept_;
  std::vector<std::string> heard_;
};

TEST(ServiceManager, WhoConnectsDuringARestartIsServedBehindIt) {
  Systemd systemd;
  Daemon daemon;
  daemon.Start({.notify = systemd.path()});
  systemd.AwaitReady();
  ASSERT_EQ(systemd.kept().size(), 2u);
  EXPECT_THAT(systemd.kept()[0].first, StartsWith("control.sock-"));
  EXPECT_THAT(systemd.kept()[1].first, StartsWith("broker.sock-"));
  // Its end takes no path away.
  EXPECT_EQ(daemon.End(), 0);
  struct stat before = {}, after = {};
  ASSERT_EQ(stat((daemon.run() + "/broker.sock").c_str(), &before), 0);
  Program a(daemon, "/a");
  a.Hello(GiB(1));
  Systemd next;
  daemon.Start({.notify = next.path(), .kept = systemd.kept()});
  ASSERT_TRUE(Until({&a}, [&] { return a.grant() >= GiB(1); }));
  ASSERT_EQ(stat((daemon.run() + "/broker.sock").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(daemon.Ask(R"({"verb":"reread"})").at(0), R"({"kind":"done"})");
  // They are kept for the next one too, and nothing is let go.
  next.AwaitReady();
  EXPECT_EQ(next.kept().size(), 2u);
  EXPECT_EQ(next.heard().size(), 3u);
  EXPECT_TRUE(Serves(daemon, "/b"));
}

TEST(ServiceManager, AKilledDaemonsSocketsAreKept) {
  Systemd systemd;
  Daemon daemon;
  daemon.Start({.notify = systemd.path()});
  systemd.AwaitReady();
  daemon.Kill();
  Program a(daemon, "/a");
  a.Hello(GiB(1));
  daemon.Start({.notify = systemd.path(), .kept = systemd.kept()});
  EXPECT_TRUE(Until({&a}, [&] { return a.welcomed(); }));
}

TEST(ServiceManager, AStartThatFailsLeavesKeptSocketsWhereTheyAre) {
  Systemd systemd;
  Daemon daemon;
  daemon.Start({.notify = systemd.path()});
  systemd.AwaitReady();
  EXPECT_EQ(daemon.End(), 0);
  daemon.WriteTenant("a.toml", "weight = 2\n");
  const Daemon::How again = {.notify = systemd.path(), .kept = systemd.kept()};
  EXPECT_THAT(daemon.StartInVain(again), HasSubstr("there is no cgroup"));
  // Who connects now waits for the next that can serve.
  Program a(daemon, "/a");
  a.Hello(GiB(1));
  daemon.RemoveTenant("a.toml");
  daemon.Start(again);
  EXPECT_TRUE(Until({&a}, [&] { return a.grant() >= GiB(1); }));
  EXPECT_EQ(daemon.Ask(R"({"verb":"reread"})").at(0), R"({"kind":"done"})");
}

TEST(ServiceManager, ThatItIsReadyIsSaidWhenThereIsRoomForIt) {
  Systemd systemd;
  systemd.Fill();
  Daemon daemon;
  daemon.Start({.notify = systemd.path()});
  daemon.WaitToSay("it is full");
  systemd.Empty();
  systemd.AwaitReady();
  EXPECT_TRUE(Serves(daemon, "/a"));
}

TEST(ServiceManager, WhatIsNotItsSocketIsNotTaken) {
  Systemd systemd;
  Daemon daemon;
  daemon.Start({.notify = systemd.path()});
  systemd.AwaitReady();
  daemon.Kill();
  const TemporaryFolder folder;
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  const int elsewhere = BoundAt(folder.path() + "/broker.sock", SOCK_SEQPACKET);
  ASSERT_EQ(listen(elsewhere, 1), 0);
  const int mute = BoundAt(folder.path() + "/mute", SOCK_SEQPACKET);
  const int stream = BoundAt(folder.path() + "/stream", SOCK_STREAM);
  for (int i = 0; i < 7; ++i) {
    SCOPED_TRACE(i);
    // Of the broker before, whose files are there.
    const auto [control, of_control] = *(systemd.kept().end() - 2);
    const auto [broker, of_broker] = *(systemd.kept().end() - 1);
    const Kept wrongs[] = {{{control, null}, {broker, null}},
                           {{broker, elsewhere}},
                           {{broker, mute}},
                           {{broker, stream}},
                           {{broker, of_control}},
                           {{"", of_broker}},
                           {{"broker.sock-1-1", of_broker}}};
    const Kept& wrong = wrongs[i];
    systemd.Clear();
    daemon.Start({.notify = systemd.path(), .kept = wrong});
    systemd.AwaitReady();
    EXPECT_TRUE(Serves(daemon, "/a"));
    daemon.WaitToSay("is not this broker's");
    if (!wrong[0].first.empty()) {
      EXPECT_THAT(systemd.heard(), testing::Contains("FDSTOREREMOVE=1\nFDNAME=" + wrong[0].first));
    }
    daemon.Kill();
  }
  for (const int fd : {null, elsewhere, mute, stream}) close(fd);
}

TEST(ServiceManager, ASocketWhosePathIsAnothersIsNotTaken) {
  Systemd systemd;
  Daemon daemon;
  daemon.Start({.notify = systemd.path()});
  systemd.AwaitReady();
  daemon.Kill();
  // Another broker was here meanwhile. Its file has a number of its own, as the first is held yet.
  const std::string path = daemon.run() + "/broker.sock";
  std::filesystem::rename(path, path + ".before");
  close(BoundAt(path, SOCK_SEQPACKET));
  daemon.Start({.kept = systemd.kept()});
  EXPECT_TRUE(Serves(daemon, "/a"));
  daemon.Kill();
  // What is meant for another process is not looked at.
  daemon.Start({.kept = systemd.kept(), .kept_for_another = true});
  EXPECT_TRUE(Serves(daemon, "/a"));
  EXPECT_THAT(daemon.said(), testing::Not(HasSubstr("is not this broker's")));
}

}  // namespace
}  // namespace vramspan::broker_test
