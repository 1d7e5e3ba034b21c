// The daemon killed, stopped and started again, and what NVML proves.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/broker/server/program.h"

namespace vramspan::broker_test {
namespace {

using lease::Type;

// What NVML shows: 9 GiB, so much in use, and each process's.
std::string Use(Bytes used, const std::vector<std::pair<pid_t, Bytes>>& processes) {
  std::string text = std::to_string(GiB(9).value) + " " + std::to_string(used.value) + "\n";
  for (const auto& [pid, bytes] : processes) {
    text += std::to_string(pid) + " " + std::to_string(bytes.value) + "\n";
  }
  return text;
}

uint64_t LastRevision(const Program& program) { return program.page().revision; }

TEST(Restart, TheKilledDaemonsProcessesAreBelievedUpToTheirShare) {
  Daemon daemon;
  daemon.Start();
  Program a(daemon, "/a"), b(daemon, "/b");
  a.BeGreedy(kAll);
  b.BeGreedy(kAll);
  ASSERT_TRUE(Until({&a, &b},
                    [&] { return a.grant() <= GiB(4) + MiB(2) && b.grant() >= GiB(4) - MiB(2); }));
  // Until the daemon has noted them (processes, in the run directory).
  ASSERT_TRUE(Until({&a, &b}, [&] {
    return ReadText(daemon.run() + "/processes").find(std::to_string(b.pid())) != std::string::npos;
  }));
  daemon.Kill();
  ASSERT_TRUE(Until({&a, &b}, [&] { return a.ended() && b.ended(); }));
  daemon.Start();
  const Bytes held = a.grant();
  a.Reconnect();
  b.Reconnect();
  a.Adopt(held, GiB(1), LastRevision(a));
  // A liar.
  b.Adopt(GiB(100), GiB(1), LastRevision(b));
  ASSERT_TRUE(Until({&a, &b}, [&] { return a.welcomed() && b.welcomed(); }));
  ASSERT_TRUE(Until({&a, &b},
                    [&] {
                      return a.grant() >= GiB(4) - MiB(4) && a.grant() <= GiB(4) + MiB(4) &&
                             b.grant() <= GiB(4) + MiB(4) && b.grant() >= GiB(4) - MiB(4);
                    }))
      << a.grant().value << " " << b.grant().value;
}

TEST(Restart, WhoComesLateWithoutProofIsRefused) {
  Daemon daemon;
  daemon.Start();
  Program a(daemon, "/a");
  a.Adopt(GiB(4), GiB(1), 7);
  ASSERT_TRUE(Until({&a}, [&] { return a.Count(Type::kRefuse) == 1; }));
  EXPECT_EQ(a.heard().back().code, static_cast<uint8_t>(lease::RefuseCode::kNotNow));
  EXPECT_FALSE(a.ended());
  a.Hello(GiB(1));
  EXPECT_TRUE(Until({&a}, [&] { return a.grant() >= GiB(1); }));
}

TEST(Restart, NvmlProvesWhatAProcessHolds) {
  Daemon daemon;
  daemon.ShowUse(Use(Bytes(), {}));
  daemon.Start({.capacity = ""});
  Program a(daemon, "/a");
  daemon.ShowUse(Use(GiB(3), {{a.pid(), GiB(3)}}));
  a.Adopt(GiB(5), GiB(1), 7);
  ASSERT_TRUE(Until({&a}, [&] { return a.welcomed() && a.Count(Type::kGrant) > 0; }));
  EXPECT_EQ(a.heard()[1].bytes, GiB(3));
  EXPECT_GT(a.heard()[1].revision, 7u);
}

TEST(Restart, ForeignUseIsSeen) {
  Daemon daemon;
  daemon.ShowUse(Use(Bytes(), {}));
  daemon.Start({.capacity = ""});
  Program a(daemon, "/a");
  a.BeGreedy(kAll);
  ASSERT_TRUE(Until({&a}, [&] { return a.grant() == kAll; }));
  daemon.ShowUse(Use(GiB(11) - GiB(2), {{a.pid(), GiB(6)}}));
  ASSERT_TRUE(Until({&a}, [&] { return a.grant() == GiB(5); })) << a.grant().value;
  daemon.ShowUse(Use(GiB(5), {{a.pid(), GiB(5)}}));
  EXPECT_TRUE(Until({&a}, [&] { return a.grant() == kAll; })) << a.grant().value;
}

TEST(Restart, TheDeadHoldWhatNvmlShows) {
  Daemon daemon;
  daemon.ShowUse(Use(Bytes(), {}));
  daemon.Start({.capacity = ""});
  Program a(daemon, "/a"), b(daemon, "/b");
  a.BeGreedy(kAll);
  ASSERT_TRUE(Until({&a}, [&] { return a.grant() == kAll; }));
  b.BeGreedy(kAll);
  ASSERT_TRUE(Until({&a, &b}, [&] { return b.grant() >= GiB(4) - MiB(2); }));
  const Bytes before = b.grant();
  const std::vector<std::pair<pid_t, Bytes>> both = {{a.pid(), GiB(4)}, {b.pid(), GiB(4)}};
  daemon.ShowUse(Use(GiB(8), both));
  const pid_t of_a = a.pid();
  a.Kill();
  // Longer than dead processes' bytes are waited for where nothing is seen of them: 2 s.
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2500);
  ASSERT_TRUE(Until({&b}, [&] { return std::chrono::steady_clock::now() > end; }));
  EXPECT_LE(b.grant(), before + MiB(4));
  std::string state;
  for (const std::string& line : daemon.Ask(R"({"verb":"status"})")) {
    const auto object = nlohmann::json::parse(line);
    if (object.value("pid", 0) == of_a) state = object.value("state", "");
  }
  EXPECT_EQ(state, "dying");
  daemon.ShowUse(Use(GiB(4), {{b.pid(), GiB(4)}}));
  EXPECT_TRUE(Until({&b}, [&] { return b.grant() == kAll; })) << b.grant().value;
}

TEST(Restart, AnOverrunIsSaid) {
  Daemon daemon;
  daemon.ShowUse(Use(Bytes(), {}));
  daemon.WriteTenant("a.toml", "cgroup = \"/a\"\nlimit = \"2GiB\"\n");
  daemon.Start({.capacity = ""});
  Program a(daemon, "/a");
  a.BeGreedy(kAll);
  ASSERT_TRUE(Until({&a}, [&] { return a.grant() == GiB(2); }));
  EXPECT_EQ(a.heard()[0].bytes, GiB(2));
  daemon.ShowUse(Use(GiB(5), {{a.pid(), GiB(5)}}));
  daemon.WaitToSay("more than it may");
}

TEST(Restart, TheFirstIsNotGrantedTheHostMemoryOfOthers) {
  Daemon daemon;
  daemon.ShowUse(Use(Bytes(), {}));
  daemon.Start({.capacity = ""});
  Program a(daemon, "/a");
  a.Hello(MiB(2), GiB(16));
  ASSERT_TRUE(Until({&a}, [&] { return a.host() > Bytes(); }));
  for (const lease::Message& message : a.heard()) {
    if (message.type != Type::kGrant || message.memory != lease::Memory::kHost) continue;
    EXPECT_LE(message.bytes, GiB(4));
  }
}

// The dead are forgotten after 2 s. A machine that was too slow to look before that tells nothing,
// so it is tried again.
TEST(Restart, AHelloFreesNothingOfTheDead) {
  using Clock = std::chrono::steady_clock;
  Daemon daemon;
  daemon.Start();
  Bytes most = kAll;
  for (int i = 0; i < 10 && most > Bytes(); ++i) {
    Program a(daemon, "/a"), b(daemon, "/b");
    a.BeGreedy(kAll);
    ASSERT_TRUE(Until({&a}, [&] { return a.grant() == kAll; }));
    a.set_answers(false);
    const auto end = Clock::now() + std::chrono::seconds(1);
    a.Reconnect();
    a.Hello(MiB(2));
    b.Hello(kAll);
    most = Bytes();
    ASSERT_TRUE(Until({&b}, [&] {
      most = std::max(most, b.grant());
      return Clock::now() > end && b.welcomed();
    }));
    EXPECT_TRUE(Until({&a, &b}, [&] { return b.grant() >= GiB(4); }));
  }
  EXPECT_EQ(most, Bytes());
}

TEST(Restart, AnAdoptedRoomIsNoMoreThanOneMayAskFor) {
  Daemon daemon;
  daemon.ShowUse(Use(Bytes(), {}));
  daemon.Start({.capacity = ""});
  Program a(daemon, "/a");
  daemon.ShowUse(Use(GiB(7), {{a.pid(), GiB(7)}}));
  a.Send({.type = Type::kAdopt, .revision = 7, .rest = GiB(7), .device = kDevice});
  ASSERT_TRUE(Until({&a}, [&] { return a.welcomed(); }));
  Bytes room;
  for (const std::string& line : daemon.Ask(R"({"verb":"status"})")) {
    const auto object = nlohmann::json::parse(line);
    if (object.value("pid", 0) == a.pid()) room = Bytes(object["room_bytes"].get<uint64_t>());
  }
  EXPECT_EQ(room, GiB(2));
}

// Refused in its seventh second, it is there in its twelfth. Where the machine was too slow to look
// in time it is tried again.
TEST(Restart, ARefusedProcessHasTenMoreSeconds) {
  using std::chrono::seconds;
  Daemon daemon;
  daemon.Start();
  for (int i = 0; i < 5; ++i) {
    Program a(daemon, "/a");
    const auto start = std::chrono::steady_clock::now();
    const auto passed = [&] { return std::chrono::steady_clock::now() - start; };
    ASSERT_TRUE(Until({&a}, [&] { return passed() > seconds(6); }));
    a.Adopt(GiB(4), GiB(1), 7);
    ASSERT_TRUE(Until({&a}, [&] { return a.Count(Type::kRefuse) == 1 || a.ended(); }));
    if (passed() > seconds(9)) continue;
    ASSERT_TRUE(Until({&a}, [&] { return passed() > seconds(11); }));
    const bool ended = a.ended();
    if (passed() > seconds(15)) continue;
    EXPECT_FALSE(ended);
    a.Hello(GiB(1));
    EXPECT_TRUE(Until({&a}, [&] { return a.grant() >= GiB(1); }));
    return;
  }
  FAIL() << "the machine is too slow to tell";
}

TEST(Restart, AFolderThatIsReadLockedStartsAllTheSame) {
  Daemon daemon;
  daemon.Start();
  EXPECT_EQ(daemon.End(), 0);
  const int folder = open(daemon.run().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(folder, LOCK_EX | LOCK_NB), 0);
  daemon.Start();
  EXPECT_TRUE(Serves(daemon, "/a"));
  close(folder);
}

TEST(Restart, ModesAreRightWhateverTheUmask) {
  Daemon daemon;
  const mode_t mask = umask(0077);
  daemon.Start();
  umask(mask);
  const auto mode = [&](const std::string& file) {
    struct stat found = {};
    EXPECT_EQ(lstat((daemon.run() + file).c_str(), &found), 0);
    return found.st_mode & 0777;
  };
  EXPECT_EQ(mode(""), geteuid() == 0 ? 0755u : 0700u);
  EXPECT_EQ(mode("/clients"), geteuid() == 0 ? 0755u : 0700u);
  EXPECT_EQ(mode("/clients/broker.sock"), geteuid() == 0 ? 0666u : 0600u);
  EXPECT_EQ(mode("/control.sock"), 0600u);
  EXPECT_EQ(mode("/lock"), 0600u);
}

TEST(Restart, AParentThatOthersMayChangeIsRefused) {
  Daemon daemon;
  const std::string parent = std::filesystem::path(daemon.run()).parent_path();
  ASSERT_EQ(chmod(parent.c_str(), 0777), 0);
  EXPECT_THAT(daemon.StartInVain(), testing::HasSubstr(parent + ": others may change it"));
  ASSERT_EQ(chmod(parent.c_str(), 01777), 0);
  daemon.Start();
}

TEST(Restart, AStoppedDaemonHurtsNobody) {
  Daemon daemon;
  daemon.Start();
  Program a(daemon, "/a"), b(daemon, "/b");
  a.BeGreedy(kAll);
  ASSERT_TRUE(Until({&a}, [&] { return a.grant() == kAll; }));
  daemon.Signal(SIGSTOP);
  b.BeGreedy(kAll);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  ASSERT_TRUE(Until({&a, &b}, [&] { return std::chrono::steady_clock::now() > end; }));
  EXPECT_EQ(a.grant(), kAll);
  EXPECT_FALSE(a.ended() || b.ended());
  daemon.Signal(SIGCONT);
  EXPECT_TRUE(Until({&a, &b}, [&] { return b.grant() >= GiB(4) - MiB(2); }));
}

TEST(Restart, OnlyOneServesAFolder) {
  Daemon daemon;
  daemon.Start();
  // The same folder, by another process of the same program.
  const std::string command = std::string("'") + BROKER_DAEMON +
                              "' --capacity device=9GiB,host=9GiB --run-directory '" +
                              daemon.run() + "' 2>&1";
  FILE* const other = popen(command.c_str(), "re");
  ASSERT_NE(other, nullptr);
  char text[512] = {};
  EXPECT_GT(fread(text, 1, sizeof text - 1, other), 0u);
  EXPECT_EQ(WEXITSTATUS(pclose(other)), 1);
  EXPECT_THAT(text, testing::HasSubstr("another broker serves here"));
  EXPECT_EQ(daemon.End(), 0);
}

}  // namespace
}  // namespace vramspan::broker_test
