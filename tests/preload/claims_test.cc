// Programs of one user on one device, without a broker: their budgets are what they announce in a
// file of the user's runtime folder.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/backing/claims_file.h"
#include "runtime/backing/claims_table.h"
#include "tests/preload/device_monitor.h"
#include "tests/preload/told_program.h"

namespace vramspan_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using vramspan::ClaimRecord;
using vramspan::ClaimsTable;

constexpr int kDevice = 320;  // MiB.
constexpr int kContext = 16;
constexpr int kBuffer = 4;

class Claims : public ::testing::Test {
 protected:
  Claims() {
    DeviceMonitor::Get();
    folder_ = (std::filesystem::temp_directory_path() / "vramspan-claims-XXXXXX").string();
    if (mkdtemp(folder_.data()) == nullptr) abort();
    std::filesystem::create_directory(run());
  }
  ~Claims() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  using Environment = std::map<std::string, std::string>;
  std::unique_ptr<ToldProgram> Start(Environment more = {}) {
    Environment environment = {{"VRAMSPAN_BROKER", "off"},
                               {"VRAMSPAN_CLAIMS", "auto"},
                               {"XDG_RUNTIME_DIR", run()},
                               {"VRAMSPAN_HOST_MEMORY", "1GiB"}};
    for (const auto& [name, value] : more) environment[name] = value;
    auto program = std::make_unique<ToldProgram>(folder_, environment);
    EXPECT_EQ(program->Line(), "ready") << program->err();
    return program;
  }
  // One that knows nothing of vramspan.
  std::unique_ptr<ToldProgram> StartForeign() { return Start({{"LD_PRELOAD", ""}}); }
  static void ExpectDone(ToldProgram* program, const std::string& what) {
    EXPECT_EQ(program->Do(what), "done") << what << ": " << program->err();
  }
  static void ExpectEnd(ToldProgram* program) {
    ExpectDone(program, "check");
    EXPECT_EQ(program->End(), 0) << program->err();
  }
  // The budget that a program announces, in MiB; -1: none.
  int Budget(const ToldProgram& program) const { return Budget(program.pid()); }
  int Budget(pid_t pid) const { return Budgets({pid}).value_or(-1); }
  // Of all of these at one time.
  std::optional<int> Budgets(const std::vector<pid_t>& pids) const {
    std::optional<int> sum;
    std::error_code none;
    for (const auto& file : std::filesystem::directory_iterator(run() + "/vramspan", none)) {
      ClaimsTable table;
      std::ifstream bytes(file.path(), std::ios::binary);
      if (!bytes.read(reinterpret_cast<char*>(&table), sizeof(table))) continue;
      for (const ClaimRecord& r : table.records) {
        if (std::find(pids.begin(), pids.end(), static_cast<pid_t>(r.pid)) == pids.end()) continue;
        sum = sum.value_or(0) + static_cast<int>(r.budget >> 20);
      }
      if (sum.has_value()) break;  // Of one device.
    }
    return sum;
  }
  static bool Within(seconds patience, const std::function<bool()>& holds) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(milliseconds(5));
    }
    return true;
  }
  static bool Soon(const std::function<bool()>& holds) { return Within(seconds(60), holds); }

  std::string run() const { return folder_ + "/run time"; }
  std::string folder_;
};

TEST_F(Claims, TwoThatStartTogetherSumToAtMostWhatIsFree) {
  // Each asks for more than half. Whoever is first has all that it asks for.
  constexpr int kBuffers = 38;
  for (int round = 0; round < 3 && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    const auto a = Start(), b = Start();
    const int free = kDevice - DeviceMonitor::Get().UsedMiB();
    for (ToldProgram* const p : {a.get(), b.get()}) p->Tell("alloc " + std::to_string(kBuffers));
    // Read one after the other, one may have what the other has given up meanwhile.
    const auto sum = [&] { return Budgets({a->pid(), b->pid()}).value_or(0); };
    // At all times: each is counted before the other takes more.
    EXPECT_TRUE(Soon([&] {
      EXPECT_LE(sum(), free);
      return Budget(*a) >= 48 && Budget(*b) >= 48;
    })) << Budget(*a)
        << " and " << Budget(*b);
    for (ToldProgram* const p : {a.get(), b.get()}) EXPECT_EQ(p->Line(), "done") << p->err();
    for (ToldProgram* const p : {a.get(), b.get()}) ExpectDone(p, "work 3");
    EXPECT_LE(sum(), free);
    ExpectEnd(a.get());
    ExpectEnd(b.get());
  }
}

TEST_F(Claims, WhatAKilledProgramClaimedIsFree) {
  const auto given = Start({{"VRAMSPAN_DEVICE_MEMORY", "200MiB"}});
  ExpectDone(given.get(), "alloc 1");
  const auto beside = Start();
  ExpectDone(beside.get(), "alloc 1");
  EXPECT_EQ(Budget(*given), 200);
  EXPECT_LE(Budget(*beside), kDevice - 200 - 2 * kContext);
  given->Signal(SIGKILL);
  EXPECT_TRUE(Soon([&] { return Budget(*beside) >= 240; })) << Budget(*beside);
  ExpectEnd(beside.get());
}

TEST_F(Claims, BesideANeighbourNoMovesArePreparedThatAreNotNeeded) {
  const auto idle = Start(), works = Start();
  ExpectDone(idle.get(), "alloc 1");
  ExpectDone(works.get(), "alloc 1");
  EXPECT_TRUE(Soon([&] { return Budget(*idle) < 160 && Budget(*works) < 160; }));
  // More than four fifths of its budget.
  ExpectDone(works.get(), "alloc 29");
  ExpectDone(works.get(), "work 3");
  EXPECT_LT(DeviceMonitor::Get().UsedMiB(works->pid()), 2 * kContext + 30 * kBuffer)
      << "the mover has a context";
  ExpectEnd(works.get());
  ExpectEnd(idle.get());
}

TEST_F(Claims, AnAllocationWaitsForWhatOthersMayGiveUp) {
  const auto own = Start();
  ExpectDone(own.get(), "alloc 1");
  std::string device;
  for (const auto& file : std::filesystem::directory_iterator(run() + "/vramspan")) {
    const std::string name = file.path().stem().string();
    if (name.starts_with("claims-")) device = name.substr(std::string("claims-").size());
  }
  ASSERT_NE(device, "");
  // It has more than it uses, and does not give it up.
  vramspan::ClaimsFile neighbour(run(), device);
  const auto says = [&] {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return neighbour
        .Exchange(vramspan::Instant(now), 100,
                  [](const vramspan::OtherClaims&) {
                    return vramspan::OwnClaim{.budget = vramspan::MiB(150)};
                  })
        .ok();
  };
  EXPECT_TRUE(Soon([&] { return says() && Budget(*own) <= 150; })) << Budget(*own);
  ExpectDone(own.get(), "alloc " + std::to_string(Budget(*own) / kBuffer - 4));
  EXPECT_TRUE(says());
  const auto begin = std::chrono::steady_clock::now();
  ExpectDone(own.get(), "alloc 6");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(400));
  neighbour.Leave();
  EXPECT_TRUE(Soon([&] { return Budget(*own) >= 240; })) << Budget(*own);
  ExpectEnd(own.get());
}

TEST_F(Claims, WhoIsStoppedOrBecameAnotherKeepsWhatItHasTakenAlone) {
  const auto stopped = Start();
  ExpectDone(stopped.get(), "alloc 1");
  const auto other = Start();
  ExpectDone(other.get(), "alloc 1");
  const auto beside = Start();
  ExpectDone(beside.get(), "alloc 1");
  EXPECT_TRUE(Soon([&] { return Budget(*beside) <= 120; })) << Budget(*beside);
  stopped->Signal(SIGSTOP);
  ExpectDone(other.get(), "exec");
  EXPECT_TRUE(Soon([&] { return Budget(*beside) >= 220; })) << Budget(*beside);
  stopped->Signal(SIGCONT);
  EXPECT_TRUE(Soon([&] { return Budget(*beside) <= 160; })) << Budget(*beside);
  ExpectEnd(stopped.get());
  EXPECT_EQ(other->Do("it lives"), "it lives");
  ExpectEnd(beside.get());
}

TEST_F(Claims, WhoEndsTakesItsClaimOut) {
  const auto own = Start();
  ExpectDone(own.get(), "alloc 4");
  const pid_t pid = own->pid();
  // A child's end is not its parent's.
  ExpectDone(own.get(), "forkexit");
  EXPECT_GE(Budget(pid), 240);
  ExpectEnd(own.get());
  // Whoever cannot look for the process, as in another container, sees nothing of it either.
  EXPECT_EQ(Budget(pid), -1);
}

TEST_F(Claims, AForeignProgramThatGrowsIsNoticedAndSoIsItsEnd) {
  const auto own = Start();
  ExpectDone(own.get(), "alloc 20");
  const int alone = Budget(*own);
  EXPECT_GE(alone, 240);
  const auto foreign = StartForeign();
  ExpectDone(foreign.get(), "alloc 40");
  ExpectDone(own.get(), "alloc 30");
  EXPECT_TRUE(Soon([&] { return Budget(*own) <= kDevice - 160 - 2 * kContext; })) << Budget(*own);
  ExpectDone(own.get(), "work 3");
  ExpectDone(own.get(), "check");
  ExpectEnd(foreign.get());
  EXPECT_TRUE(Soon([&] { return Budget(*own) == alone; })) << Budget(*own);
  ExpectEnd(own.get());
}

TEST_F(Claims, WhatAProgramIsToldOfItsMemoryIsNoneOfTheOthers) {
  const auto own = Start({{"VRAMSPAN_REPORT", "total"}});
  ExpectDone(own.get(), "alloc 1");
  const std::string before = own->Do("info");
  const int alone = Budget(*own);
  const auto other = Start();
  ExpectDone(other.get(), "alloc 1");
  EXPECT_TRUE(Soon([&] { return Budget(*own) < alone; }));
  EXPECT_EQ(own->Do("info"), before);
  ExpectEnd(other.get());
  ExpectEnd(own.get());
}

TEST_F(Claims, WhoseFolderGoesMissingGoesOnAndSaysSo) {
  // Nobody else makes the folder anew.
  const auto own = Start({{"VRAMSPAN_LOG", "info"}, {"VRAMSPAN_TOP", "off"}});
  ExpectDone(own.get(), "alloc 1");
  EXPECT_GE(Budget(*own), 240);
  std::filesystem::remove_all(run() + "/vramspan");
  EXPECT_TRUE(Soon([&] { return own->err().find("not seen from here on") != std::string::npos; }))
      << own->err();
  EXPECT_EQ(Budget(*own), -1);
  ExpectDone(own.get(), "alloc 55");
  ExpectEnd(own.get());
}

TEST_F(Claims, DevicesAreSharedEachByItself) {
  const auto first = Start(), second = Start(), third = Start();
  ExpectDone(first.get(), "alloc 1");
  ExpectDone(second.get(), "device 1");
  ExpectDone(second.get(), "alloc 1");
  const int alone = Budget(*first), beside = Budget(*second);
  EXPECT_GE(alone, 220);
  EXPECT_GE(beside, 220);
  ExpectDone(third.get(), "alloc 1");
  EXPECT_TRUE(Soon([&] { return Budget(*first) < alone; }));
  EXPECT_EQ(Budget(*second), beside);
  for (ToldProgram* const p : {first.get(), second.get(), third.get()}) ExpectEnd(p);
}

TEST_F(Claims, WhoWantsNoneOrHasNoFolderIsAsEver) {
  for (const Environment& none :
       {Environment{{"VRAMSPAN_CLAIMS", "off"}}, Environment{{"VRAMSPAN_CLAIMS", ""}},
        Environment{{"XDG_RUNTIME_DIR", ""}},
        Environment{{"XDG_RUNTIME_DIR", folder_ + "/nowhere"}}}) {
    const auto a = Start(none);
    ExpectDone(a.get(), "alloc 10");
    EXPECT_EQ(Budget(*a), -1);
    ExpectEnd(a.get());
  }
  const auto wrong = Start({{"VRAMSPAN_CLAIMS", "perhaps"}});
  wrong->Do("try 1");
  EXPECT_THAT(wrong->err(), ::testing::HasSubstr("VRAMSPAN_CLAIMS: 'perhaps' is not a way"));
}

TEST_F(Claims, AProgramThatForksOrClosesWhatItDoesNotKnowGoesOn) {
  const auto own = Start();
  ExpectDone(own.get(), "alloc 4");
  for (const char* const does : {"fork", "close", "closefrom"}) {
    SCOPED_TRACE(does);
    ExpectDone(own.get(), does);
    ExpectDone(own.get(), "alloc 4");
  }
  const int alone = Budget(*own);
  const auto other = Start();
  ExpectDone(other.get(), "alloc 60");
  EXPECT_TRUE(Soon([&] { return Budget(*own) < alone; }));
  ExpectEnd(other.get());
  ExpectEnd(own.get());
}

}  // namespace
}  // namespace vramspan_test
