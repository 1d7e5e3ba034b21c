// Programs under the preload as `vramspan top` shows them.
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/preload/told_program.h"

namespace vramspan_test {
namespace {

using ::testing::IsSupersetOf;
using ::testing::SizeIs;
using Json = nlohmann::json;
using std::chrono::milliseconds;

constexpr int kMiB = 1 << 20;

class Top : public ::testing::Test {
 protected:
  Top() {
    folder_ = (std::filesystem::temp_directory_path() / "vramspan-top-XXXXXX").string();
    if (mkdtemp(folder_.data()) == nullptr) abort();
    std::filesystem::create_directory(run());
  }
  ~Top() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::unique_ptr<ToldProgram> Start(std::map<std::string, std::string> environment = {}) {
    environment.insert({{"XDG_RUNTIME_DIR", run()},
                        {"SIMCUDA_DEVICE_MEMORY", "320MiB"},
                        {"VRAMSPAN_DEVICE_MEMORY", "64MiB"},
                        {"VRAMSPAN_BROKER", "off"},
                        {"VRAMSPAN_TOP", "on"}});
    auto program = std::make_unique<ToldProgram>(folder_, environment);
    EXPECT_EQ(program->Line(), "ready") << program->err();
    return program;
  }
  static void Do(ToldProgram* program, const std::string& what) {
    EXPECT_EQ(program->Do(what), "done") << what << ": " << program->err();
  }
  // What `vramspan top` says of the process; an empty list where it says nothing.
  Json Processes(const ToldProgram& program) const {
    const std::string out = folder_ + "/out";
    const std::string command = "env XDG_RUNTIME_DIR='" + run() + "' '" VRAMSPAN_BINARY "' top " +
                                std::to_string(program.pid()) +
                                " --once --interval 0.5 --format json >'" + out + "' 2>/dev/null";
    if (std::system(command.c_str()) != 0) return Json::array();
    std::ifstream file(out);
    return Json::parse(file)["processes"];
  }
  // Tries until it is so.
  static bool Soon(const std::function<bool()>& holds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(milliseconds(20));
    }
    return true;
  }
  std::vector<std::filesystem::path> Files() const {
    std::vector<std::filesystem::path> files;
    std::error_code none;
    for (const auto& file : std::filesystem::directory_iterator(run() + "/vramspan", none)) {
      files.push_back(file.path());
    }
    return files;
  }

  std::string run() const { return folder_ + "/run time"; }
  std::string folder_;
};

std::vector<std::string> Causes(const Json& process) {
  std::vector<std::string> causes;
  for (const Json& decision : process["decisions"]) causes.push_back(decision["cause"]);
  return causes;
}

TEST_F(Top, AProgramThatIsShortOfMemoryIsSeenWithItsFigures) {
  const auto program = Start();
  Do(program.get(), "alloc 24");
  Do(program.get(), "work 2");
  Json process;
  // It works until a look falls between two of its records.
  std::atomic<bool> seen{false};
  std::thread look([&] {
    Soon([&] {
      const Json found = Processes(*program);
      if (found.size() == 1) process = found[0];
      return found.size() == 1 && process["in_per_second"] > 0;
    });
    seen = true;
  });
  while (!seen) Do(program.get(), "work 1");
  look.join();
  ASSERT_TRUE(process.is_object());
  EXPECT_EQ(process["pid"], program->pid());
  EXPECT_EQ(process["gpu"], 0);
  EXPECT_EQ(process["device_memory"], 320 * kMiB);
  EXPECT_TRUE(process["was_short"]);
  EXPECT_TRUE(process["traced"]);
  EXPECT_GT(process["out_per_second"], 0);
  EXPECT_GT(process["slowdown"], 1);
  EXPECT_LE(process["waiting"], 1);
  EXPECT_NE(std::string(process["command"]).find("as_told"), std::string::npos);
  const Json& counters = process["counters"];
  EXPECT_EQ(counters["device_budget"], 64 * kMiB);
  EXPECT_EQ(counters["allocated_bytes"], 96 * kMiB);
  EXPECT_LE(process["resident"], 64 * kMiB);
  EXPECT_GT(process["resident"], 0);
  EXPECT_GE(process["on_host"], 32 * kMiB);
  EXPECT_LE(process["on_host"], 96 * kMiB);
  EXPECT_THAT(Causes(process), IsSupersetOf({"needed", "room"}));
  Do(program.get(), "check");
  EXPECT_EQ(program->End(), 0) << program->err();
  EXPECT_THAT(Files(), SizeIs(0)) << "it goes with the program";
}

TEST_F(Top, WhileMemorySufficesAllocationsAreSeenAndNothingIsWokenForIt) {
  const auto program = Start();
  Do(program.get(), "alloc 2");
  const auto resident = [&] {
    const Json found = Processes(*program);
    return found.size() == 1 ? static_cast<int>(found[0]["resident"].get<uint64_t>() / kMiB) : -1;
  };
  EXPECT_TRUE(Soon([&] { return resident() == 8; })) << resident();
  // Whatever else the machine does, the thread is not woken for more than a second.
  const std::string tasks = "/proc/" + std::to_string(program->pid()) + "/task";
  const auto switches = [&] {
    for (const auto& task : std::filesystem::directory_iterator(tasks)) {
      std::ifstream file(task.path() / "status");
      std::stringstream text;
      text << file.rdbuf();
      if (text.str().find("vramspan-mover") == std::string::npos) continue;
      return text.str().substr(text.str().find("voluntary_ctxt_switches"));
    }
    return std::string();
  };
  ASSERT_NE(switches(), "");
  EXPECT_TRUE(Soon([&] {
    const std::string before = switches();
    std::this_thread::sleep_for(milliseconds(1300));
    return switches() == before;
  }));
  Do(program.get(), "free");
  EXPECT_TRUE(Soon([&] { return resident() == 0; })) << resident();
  EXPECT_EQ(program->End(), 0) << program->err();
}

TEST_F(Top, TheFileIsTheUsersAlone) {
  const auto program = Start();
  Do(program.get(), "alloc 1");
  ASSERT_TRUE(Soon([&] { return Files().size() == 1; }));
  struct stat file, folder;
  ASSERT_EQ(stat(Files()[0].c_str(), &file), 0);
  ASSERT_EQ(stat((run() + "/vramspan").c_str(), &folder), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  EXPECT_EQ(folder.st_mode & 0777, 0700u);
  EXPECT_LE(file.st_size, 4096);
  EXPECT_EQ(program->End(), 0);
}

TEST_F(Top, NoDescriptorIsKept) {
  const auto program = Start();
  Do(program.get(), "alloc 24");
  ASSERT_TRUE(Soon([&] { return Files().size() == 1; }));
  const auto kept = [&] {
    for (const auto& fd :
         std::filesystem::directory_iterator("/proc/" + std::to_string(program->pid()) + "/fd")) {
      std::error_code gone;
      const auto path = std::filesystem::read_symlink(fd.path(), gone).string();
      if (path.find(run()) == 0) return true;
    }
    return false;
  };
  // It may just be writing.
  EXPECT_TRUE(Soon([&] { return !kept(); }));
  for (const char* all : {"close", "closefrom"}) {
    Do(program.get(), all);
    Do(program.get(), "work 2");
  }
  Do(program.get(), "alloc 1");
  EXPECT_TRUE(Soon([&] {
    const Json found = Processes(*program);
    return found.size() == 1 && found[0]["counters"]["allocated_bytes"] == 100 * kMiB;
  })) << "it goes on being shown";
  Do(program.get(), "check");
  EXPECT_EQ(program->End(), 0) << program->err();
}

TEST_F(Top, AChildLeavesItWhereItIs) {
  const auto program = Start();
  Do(program.get(), "alloc 1");
  ASSERT_TRUE(Soon([&] { return Files().size() == 1; }));
  Do(program.get(), "fork");
  Do(program.get(), "forkexit");
  EXPECT_THAT(Files(), SizeIs(1));
  EXPECT_EQ(program->End(), 0);
}

TEST_F(Top, WhatIsKilledGoesAtTheNextLook) {
  const auto program = Start();
  Do(program.get(), "alloc 1");
  ASSERT_TRUE(Soon([&] { return Files().size() == 1; }));
  program->Signal(SIGKILL);
  EXPECT_TRUE(Soon([&] { return Processes(*program).empty() && Files().empty(); }));
}

TEST_F(Top, AProcessThatBecomesAnotherIsNotShown) {
  const auto program = Start();
  Do(program.get(), "alloc 1");
  ASSERT_TRUE(Soon([&] { return Processes(*program).size() == 1; }));
  Do(program.get(), "exec");
  ASSERT_EQ(program->Do("still here"), "still here");
  EXPECT_TRUE(Soon([&] { return Processes(*program).empty() && Files().empty(); }));
}

TEST_F(Top, AProcessWithTwoDevicesHasTwoLines) {
  const auto program = Start({{"SIMCUDA_DEVICES", "2"}});
  Do(program.get(), "alloc 1");
  Do(program.get(), "free");
  Do(program.get(), "device 1");
  Do(program.get(), "alloc 1");
  Json found;
  EXPECT_TRUE(Soon([&] {
    found = Processes(*program);
    return found.size() == 2 && found[0]["resident"] == 0 && found[1]["resident"] == 4 * kMiB;
  })) << found.dump();
  EXPECT_EQ(found[0]["gpu"], 0);
  EXPECT_EQ(found[1]["gpu"], 1);
  EXPECT_NE(found[0]["uuid"], found[1]["uuid"]);
  EXPECT_EQ(program->End(), 0);
  EXPECT_THAT(Files(), SizeIs(0));
}

TEST_F(Top, OffShowsNothing) {
  const auto program = Start({{"VRAMSPAN_TOP", "off"}});
  Do(program.get(), "alloc 24");
  Do(program.get(), "work 2");
  EXPECT_THAT(Processes(*program), SizeIs(0));
  EXPECT_FALSE(std::filesystem::exists(run() + "/vramspan"));
  EXPECT_EQ(program->End(), 0) << program->err();
}

TEST_F(Top, AFolderThatIsNotToBeUsedCostsNothingElse) {
  std::filesystem::create_directory(run() + "/vramspan");
  std::filesystem::permissions(run() + "/vramspan", std::filesystem::perms::all);
  const auto program = Start();
  Do(program.get(), "alloc 24");
  Do(program.get(), "work 2");
  Do(program.get(), "check");
  EXPECT_THAT(Files(), SizeIs(0));
  // Where there is another place that one is used.
  EXPECT_TRUE(Soon([&] { return Processes(*program).size() == 1; }));
  EXPECT_EQ(program->End(), 0) << program->err();
  EXPECT_EQ(program->err().find("VRAMSPAN_TOP"), std::string::npos);
}

}  // namespace
}  // namespace vramspan_test
