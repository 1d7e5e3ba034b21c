// Two programs that know nothing of vramspan, and the broker itself.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "tests/preload/device_monitor.h"
#include "tests/preload/told_program.h"

namespace vramspan_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// What the broker has to share out: all but its reserve of 1 GiB.
constexpr int kShared = 256;
constexpr int kData = 192;
// A program's context, its mover's, and that one's words.
constexpr int kContextsOfOne = 34;

class Brokered : public ::testing::Test {
 protected:
  Brokered() {
    DeviceMonitor::Get();
    folder_ = (std::filesystem::temp_directory_path() / "vramspan-brokered-XXXXXX").string();
    if (mkdtemp(folder_.data()) == nullptr) abort();
    StartBroker();
  }
  ~Brokered() override {
    first_.reset();
    second_.reset();
    KillBroker();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  void StartBroker() {
    broker_ = fork();
    if (broker_ == 0) {
      const int log = open((folder_ + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      dup2(log, STDOUT_FILENO);
      dup2(log, STDERR_FILENO);
      execl(BROKER_PATH, BROKER_PATH, "--capacity", "device=1280MiB,host=4GiB", "--run-directory",
            folder_.c_str(), nullptr);
      _exit(127);
    }
    EXPECT_TRUE(
        Within(seconds(20), [&] { return std::filesystem::exists(folder_ + "/broker.sock"); }));
  }
  void KillBroker() {
    if (broker_ <= 0) return;
    kill(broker_, SIGKILL);
    waitpid(broker_, nullptr, 0);
    broker_ = -1;
  }
  std::unique_ptr<ToldProgram> Start() {
    auto program = std::make_unique<ToldProgram>(
        folder_,
        std::map<std::string, std::string>{{"VRAMSPAN_BROKER", folder_}, {"VRAMSPAN_TOP", "off"}});
    EXPECT_EQ(program->Line(), "ready") << program->err();
    return program;
  }
  static int Used(const ToldProgram& program) {
    return DeviceMonitor::Get().UsedMiB(program.pid());
  }
  template <typename Holds>
  static bool Within(seconds patience, Holds holds) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(milliseconds(5));
    }
    return true;
  }
  // Both work until it holds.
  template <typename Holds>
  bool WorkUntil(Holds holds) {
    return Within(seconds(60), [&] {
      first_->Tell("work 5");
      second_->Tell("work 5");
      EXPECT_EQ(first_->Line(), "done") << first_->err();
      EXPECT_EQ(second_->Line(), "done") << second_->err();
      return holds() || HasFailure();
    });
  }
  void StartBoth() {
    first_ = Start();
    EXPECT_EQ(first_->Do("alloc 48"), "done") << first_->err();
    EXPECT_EQ(first_->Do("work 3"), "done");
    EXPECT_GE(Used(*first_), kData) << "a single program has what it wants";
    second_ = Start();
    EXPECT_EQ(second_->Do("alloc 48"), "done") << second_->err();
  }
  bool ShareAlike() {
    const int half = kShared / 2;
    return Used(*second_) >= half && Used(*first_) <= half + kContextsOfOne &&
           Used(*first_) >= half - 8;
  }
  static std::set<std::string> FilesIn(const std::string& folder) {
    std::set<std::string> files;
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator(folder, gone)) {
      files.insert(entry.path().filename().string());
    }
    return files;
  }
  static size_t Descriptors(pid_t pid) {
    return FilesIn("/proc/" + std::to_string(pid) + "/fd").size();
  }
  static void ExpectEnd(ToldProgram* program) {
    EXPECT_EQ(program->Do("check"), "done") << program->err();
    EXPECT_EQ(program->End(), 0) << program->err();
  }

  std::string folder_;
  pid_t broker_ = -1;
  std::unique_ptr<ToldProgram> first_, second_;
};

TEST_F(Brokered, TheSecondGetsItsHalfAndTheLastGetsAll) {
  StartBoth();
  EXPECT_TRUE(WorkUntil([&] { return ShareAlike(); }))
      << Used(*first_) << " and " << Used(*second_) << " MiB\n"
      << first_->err() << second_->err();
  EXPECT_EQ(first_->Do("check"), "done") << first_->err();
  EXPECT_EQ(second_->Do("check"), "done") << second_->err();
  first_->Signal(SIGKILL);
  EXPECT_TRUE(Within(seconds(60), [&] {
    EXPECT_EQ(second_->Do("work 5"), "done") << second_->err();
    return Used(*second_) >= kData || HasFailure();
  })) << Used(*second_);
  ExpectEnd(second_.get());
}

TEST_F(Brokered, ABrokerThatIsKilledAndStartedAgainIsNotNoticed) {
  StartBoth();
  EXPECT_TRUE(WorkUntil([&] { return ShareAlike(); }))
      << Used(*first_) << " and " << Used(*second_);
  KillBroker();
  EXPECT_EQ(first_->Do("work 5"), "done") << first_->err();
  EXPECT_EQ(second_->Do("check"), "done") << second_->err();
  StartBroker();
  // It knows them again, or what one leaves would not be the other's.
  first_->Signal(SIGKILL);
  EXPECT_TRUE(Within(seconds(60), [&] {
    EXPECT_EQ(second_->Do("work 5"), "done") << second_->err();
    return Used(*second_) >= kData || HasFailure();
  })) << Used(*second_);
  ExpectEnd(second_.get());
}

// No handle is passed, and none is kept open: a thousand of them would be all that a process may
// have.
TEST_F(Brokered, MemoryTakesNoDescriptors) {
  first_ = Start();
  EXPECT_EQ(first_->Do("alloc 2"), "done") << first_->err();
  const size_t before = Descriptors(first_->pid());
  EXPECT_GT(before, 3u);
  EXPECT_EQ(first_->Do("alloc 46"), "done") << first_->err();
  EXPECT_EQ(first_->Do("work 3"), "done") << first_->err();
  EXPECT_EQ(Descriptors(first_->pid()), before);
  ExpectEnd(first_.get());
}

// What is shared has no name that could vanish, or stay when its maker is killed.
TEST_F(Brokered, WhoIsKilledLeavesNoFile) {
  const std::set<std::string> before = FilesIn(folder_ + "/clients");
  EXPECT_FALSE(before.empty());
  first_ = Start();
  EXPECT_EQ(first_->Do("alloc 48"), "done") << first_->err();
  EXPECT_EQ(first_->Do("work 3"), "done") << first_->err();
  EXPECT_EQ(FilesIn(folder_ + "/clients"), before);
  std::ifstream maps("/proc/" + std::to_string(first_->pid()) + "/maps");
  bool pages = false;
  for (std::string line; std::getline(maps, line);) {
    EXPECT_EQ(line.find("/dev/shm/"), std::string::npos) << line;
    pages |= line.find("/memfd:vramspan") != std::string::npos;
  }
  EXPECT_TRUE(pages) << "what it shares with the broker";
  first_->Signal(SIGKILL);
  second_ = Start();
  EXPECT_EQ(second_->Do("alloc 48"), "done") << second_->err();
  EXPECT_EQ(FilesIn(folder_ + "/clients"), before);
  ExpectEnd(second_.get());
}

TEST_F(Brokered, AStoppedBrokerHoldsNobodyUp) {
  StartBoth();
  EXPECT_TRUE(WorkUntil([&] { return ShareAlike(); }))
      << Used(*first_) << " and " << Used(*second_);
  kill(broker_, SIGSTOP);
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(first_->Do("work 20"), "done") << first_->err();
  EXPECT_EQ(second_->Do("work 20"), "done") << second_->err();
  EXPECT_EQ(first_->Do("alloc 2"), "done") << first_->err();
  EXPECT_LT(std::chrono::steady_clock::now() - before, seconds(20));
  kill(broker_, SIGCONT);
  ExpectEnd(first_.get());
  ExpectEnd(second_.get());
}

}  // namespace
}  // namespace vramspan_test
