// What processes share of simulated devices, with real processes that are killed and stopped
// wherever they are. No driver: each opens the segment and charges it as fast as it can.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tools/simcuda/shared/segment.h"

namespace simcuda::shared {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kLimit = 4 * kMiB;

class SharedSegment : public ::testing::Test {
 protected:
  SharedSegment() {
    std::string name = (std::filesystem::temp_directory_path() / "simcuda-shared-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) abort();
    folder_ = name;
    own_ = Segment::Open(folder_);
    if (own_ == nullptr) abort();
    own_->InitLimit(0, kLimit);
  }
  ~SharedSegment() override {
    for (const pid_t child : std::set<pid_t>(children_)) Kill(child);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  // A process with a place of its own. `body` returns its exit code.
  pid_t Start(const std::function<int(Segment&, int place)>& body) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const std::unique_ptr<Segment> segment = Segment::Open(folder_);
      const int place = segment != nullptr ? segment->Arrive() : -1;
      _exit(place < 0 ? 99 : body(*segment, place));
    }
    children_.insert(child);
    return child;
  }
  int Wait(pid_t child) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    children_.erase(child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void Kill(pid_t child) {
    kill(child, SIGKILL);
    EXPECT_EQ(Wait(child), 128 + SIGKILL);
  }
  static void Stop(pid_t child) {
    kill(child, SIGSTOP);
    siginfo_t info;
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED), 0);
  }

  // The same file as bytes, for what no process can be made to do on demand.
  Layout& Mapped() {
    if (layout_ == nullptr) {
      for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
        const int file = open(entry.path().c_str(), O_RDWR | O_CLOEXEC);
        void* const at = mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
        if (at == MAP_FAILED) abort();
        layout_ = static_cast<Layout*>(at);
      }
    }
    return *layout_;
  }

  // Takes and gives back pieces of many sizes, and looks whether its own bytes are what it has.
  static int Churn(Segment& segment, int place, uint64_t seed, int rounds) {
    std::mt19937_64 random(seed);
    std::vector<size_t> held;
    size_t sum = 0;
    for (int i = 0; rounds == 0 || i < rounds; ++i) {
      const size_t bytes = (1 + random() % 16) * kPageBytes;
      if (random() % 2 == 0 && segment.Charge(0, place, bytes)) {
        held.push_back(bytes);
        sum += bytes;
      } else if (!held.empty()) {
        segment.Release(0, place, held.back());
        sum -= held.back();
        held.pop_back();
      }
      if (i % 64 != 0) continue;
      size_t found = 0;
      for (const ProcessUse& use : segment.Processes(0)) {
        if (use.pid == getpid()) found = use.bytes;
      }
      if (found != sum) return 1;
      if (segment.Used(0) > segment.limit(0)) return 2;
    }
    for (const size_t bytes : held) segment.Release(0, place, bytes);
    return 0;
  }

  std::string folder_;
  std::unique_ptr<Segment> own_;
  std::set<pid_t> children_;
  Layout* layout_ = nullptr;
};

TEST_F(SharedSegment, AFileOfAnotherVersionIsLeftAsItIs) {
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const uintmax_t size = entry.file_size();
    std::filesystem::resize_file(entry.path(), size + 1);
    EXPECT_EQ(Segment::Open(folder_), nullptr);
    EXPECT_EQ(std::filesystem::file_size(entry.path()), size + 1);
    std::filesystem::resize_file(entry.path(), size);
    EXPECT_NE(Segment::Open(folder_), nullptr);
  }
}

TEST_F(SharedSegment, EveryoneHasExactlyWhatItHolds) {
  std::vector<pid_t> children;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    children.push_back(
        Start([seed](Segment& s, int place) { return Churn(s, place, seed, 40000); }));
  }
  for (const pid_t child : children) EXPECT_EQ(Wait(child), 0);
  EXPECT_EQ(own_->Used(0), 0u);
}

// Each ends only when nothing is left, so what they have is all there is, and no more.
TEST_F(SharedSegment, NoByteIsRefusedThatIsThereAndNoneIsGivenTwice) {
  for (int round = 0; round < 20; ++round) {
    std::vector<pid_t> children;
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    for (int i = 0; i < 6; ++i) {
      children.push_back(Start([&](Segment& s, int place) {
        size_t taken = 0;
        while (s.Charge(0, place, kPageBytes)) taken += kPageBytes;
        if (write(pipes[1], &taken, sizeof(taken)) != sizeof(taken)) return 1;
        pause();
        return 0;
      }));
    }
    size_t sum = 0;
    for (size_t i = 0; i < children.size(); ++i) {
      size_t taken = 0;
      ASSERT_EQ(read(pipes[0], &taken, sizeof(taken)), static_cast<ssize_t>(sizeof(taken)));
      sum += taken;
    }
    close(pipes[0]);
    close(pipes[1]);
    EXPECT_EQ(sum, kLimit);
    EXPECT_EQ(own_->Used(0), kLimit);
    for (const pid_t child : children) Kill(child);
    EXPECT_EQ(own_->Used(0), 0u);
  }
}

TEST_F(SharedSegment, BytesOfKilledProcessesComeBackWhereverTheyWere) {
  std::mt19937_64 random(1);
  std::vector<pid_t> children;
  uint64_t seed = 0;
  const auto start = [&] {
    return Start([s = seed++](Segment& g, int place) { return Churn(g, place, s, 0); });
  };
  for (int i = 0; i < 4; ++i) children.push_back(start());
  const pid_t witness = Start([](Segment& s, int place) { return Churn(s, place, 77, 50000); });
  for (int kills = 0; kills < 400; ++kills) {
    usleep(static_cast<useconds_t>(random() % 500));
    pid_t& victim = children[random() % children.size()];
    Kill(victim);
    for (const ProcessUse& use : own_->Processes(0)) EXPECT_NE(use.pid, victim);
    EXPECT_LE(own_->Used(0), kLimit);
    victim = start();
  }
  EXPECT_EQ(Wait(witness), 0) << "a kill changed what another process has";
  for (const pid_t child : children) Kill(child);
  EXPECT_EQ(own_->Used(0), 0u);
  const int place = own_->Arrive();
  ASSERT_GE(place, 0);
  EXPECT_TRUE(own_->Charge(0, place, kLimit));
  EXPECT_FALSE(own_->Charge(0, place, 1));
}

// Wherever it was stopped, what it was about is done by others.
TEST_F(SharedSegment, AStoppedProcessHoldsNobodyUp) {
  const pid_t child = Start([](Segment& s, int place) { return Churn(s, place, 5, 0); });
  const int place = own_->Arrive();
  ASSERT_GE(place, 0);
  own_->set_limit(0, 1024 * kMiB);
  std::mt19937_64 random(2);
  alarm(60);  // Stuck for good, else.
  for (int stops = 0; stops < 500; ++stops) {
    usleep(static_cast<useconds_t>(random() % 200));
    Stop(child);
    const size_t before = own_->Used(0);
    ASSERT_TRUE(own_->Charge(0, place, kMiB));
    EXPECT_EQ(own_->Used(0), before + kMiB);
    own_->Release(0, place, kMiB);
    EXPECT_EQ(own_->Used(0), before);
    kill(child, SIGCONT);
  }
  alarm(0);
  Kill(child);
  EXPECT_EQ(own_->Used(0), 0u);
}

// As a process leaves it that is killed right behind the exchange: its change is made, and counts.
TEST_F(SharedSegment, WhatIsBegunIsEndedByWhoeverComes) {
  const int place = own_->Arrive(), other = place + 1;
  Layout::Device& device = Mapped().devices[0];
  const uint64_t number = (device.head.load() >> 16) + 1;
  Mapped().owners[other].store(Mapped().owners[place].load());
  device.uses[other].next.store(uint64_t{5} << 24 | number);
  EXPECT_EQ(own_->Used(0), 0u) << "before the exchange it is nothing";
  device.head.store(number << 16 | static_cast<uint64_t>(other));
  ASSERT_TRUE(own_->Charge(0, place, kPageBytes));
  EXPECT_EQ(own_->Used(0), 6 * kPageBytes);
}

// A page goes from the first place to a far one while a process is stopped that adds them up. It
// must not count the page twice, and refuse the one that is left.
TEST_F(SharedSegment, NothingIsRefusedForASumThatNeverWas) {
  constexpr int kFar = static_cast<int>(kMostProcesses) - 1;
  constexpr size_t kEnds = 7 * kPageBytes;
  own_->set_limit(0, 2 * kPageBytes);
  int at = own_->Arrive(), other = kFar;
  Mapped().owners[kFar].store(Mapped().owners[at].load());
  ASSERT_TRUE(own_->Charge(0, at, kPageBytes));
  const pid_t child = Start([](Segment& s, int place) {
    while (s.limit(0) != kEnds) {
      if (!s.Charge(0, place, kPageBytes)) return 1;
      s.Release(0, place, kPageBytes);
    }
    return 0;
  });
  std::mt19937_64 random(4);
  for (int moves = 0; moves < 1000; ++moves) {
    usleep(static_cast<useconds_t>(random() % 50));
    Stop(child);
    own_->Release(0, at, kPageBytes);
    ASSERT_TRUE(own_->Charge(0, other, kPageBytes));
    std::swap(at, other);
    kill(child, SIGCONT);
  }
  own_->set_limit(0, kEnds);
  EXPECT_EQ(Wait(child), 0);
}

TEST_F(SharedSegment, WhoFindsNoRoomLooksWhoIsDead) {
  const pid_t child = Start([](Segment& s, int place) {
    if (!s.Charge(0, place, kLimit)) return 1;
    kill(getpid(), SIGSTOP);
    return 0;
  });
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED), 0);
  const int place = own_->Arrive();
  ASSERT_FALSE(own_->Charge(0, place, kLimit));
  Kill(child);
  EXPECT_TRUE(own_->Charge(0, place, kLimit));
}

// Nobody has waited for it, so its id is still taken.
TEST_F(SharedSegment, AZombieHasNothing) {
  const pid_t child = Start([](Segment& s, int place) {
    if (!s.Charge(0, place, kMiB)) return 1;
    kill(getpid(), SIGSTOP);
    return 0;
  });
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED), 0);
  EXPECT_EQ(own_->Used(0), kMiB);
  kill(child, SIGKILL);
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(own_->Used(0), 0u);
  EXPECT_EQ(Wait(child), 128 + SIGKILL);
}

TEST_F(SharedSegment, ReleasesAreNoMoreThanThereIs) {
  const int place = own_->Arrive();
  ASSERT_TRUE(own_->Charge(0, place, kMiB));
  own_->Release(0, place, 3 * kMiB);
  EXPECT_EQ(own_->Used(0), 0u);
  EXPECT_FALSE(own_->Charge(0, place, SIZE_MAX));
  EXPECT_FALSE(own_->Charge(0, place, kLimit + 1));
  EXPECT_EQ(own_->Used(0), 0u);
}

TEST_F(SharedSegment, AFileOfSomethingElseIsRefused) {
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    std::filesystem::resize_file(entry.path(), 0);
    FILE* const file = fopen(entry.path().c_str(), "w");
    ASSERT_NE(file, nullptr);
    fputs("something else", file);
    fclose(file);
  }
  errno = 0;
  // The segment that is open reads what is in the file now, and is not used here any more.
  EXPECT_EQ(Segment::Open(folder_), nullptr);
  EXPECT_EQ(errno, EPROTO);
  EXPECT_EQ(Segment::Open(folder_ + "/nowhere"), nullptr);
}

}  // namespace
}  // namespace simcuda::shared
