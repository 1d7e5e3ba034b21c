// Tenants that containers asked to be: within what the operator allows, and to nobody's harm.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "tests/broker/server/program.h"

namespace vramspan::broker_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;
namespace fs = std::filesystem;

class ContainerTenants : public ::testing::Test {
 protected:
  // As the hook does it: whole, and by one step.
  void Ask(const std::string& file, const std::string& text) const {
    const std::string folder = daemon_.run() + "/tenants.d/";
    std::ofstream(folder + ".new") << text;
    fs::rename(folder + ".new", folder + file);
  }
  // null where there is none.
  Json Tenant(const std::string& cgroup) const {
    for (const std::string& line : daemon_.Ask(R"({"verb":"status"})")) {
      Json object = Json::parse(line);
      if (object["kind"] == "tenant" && object["cgroup"] == cgroup) return object;
    }
    return {};
  }
  bool Becomes(const std::string& cgroup, const char* key, const Json& value) const {
    for (int i = 0; i < 6000; ++i) {
      const Json tenant = Tenant(cgroup);
      if (tenant.is_object() ? tenant[key] == value : value.is_null()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ADD_FAILURE() << Tenant(cgroup) << daemon_.said();
    return false;
  }
  // A device is known when a process has named it.
  void Start() {
    daemon_.Start();
    program_.emplace(daemon_, "/program");
    program_->Hello(GiB(1));
    ASSERT_TRUE(Until({&*program_}, [&] { return program_->welcomed(); }));
  }
  void Allow(const std::string& text) const {
    fs::create_directories(daemon_.config());
    std::ofstream(daemon_.config() + "/containers.toml") << text;
  }

  Daemon daemon_;
  std::optional<Program> program_;
};

TEST_F(ContainerTenants, GetWhatTheOperatorAllows) {
  Start();
  // Nothing is said in containers.toml: less than others, but no more.
  Ask("a.toml", "cgroup = \"/c/a\"\nweight = 30\nlimit = \"2GiB\"\nclass = \"batch\"\n");
  EXPECT_TRUE(Becomes("/c/a", "weight", 30));
  EXPECT_EQ(Tenant("/c/a")["limit_bytes"], GiB(2).value);
  EXPECT_EQ(Tenant("/c/a")["class"], "batch");
  EXPECT_EQ(Tenant("/c/a")["policy_from"], "container");
  Ask("b.toml", "cgroup = \"/c/b\"\nweight = 10000\nguarantee = \"4GiB\"\nclass = \"latency\"\n");
  EXPECT_TRUE(Becomes("/c/b", "weight", 100));
  EXPECT_EQ(Tenant("/c/b")["guarantee_bytes"], 0);
  EXPECT_EQ(Tenant("/c/b")["class"], "normal");
  daemon_.WaitToSay("b.toml: it asks for more than a container may have");
  // The operator allows more.
  Allow("weight = 500\nguarantee = \"1GiB\"\nlimit = \"3GiB\"\n");
  EXPECT_TRUE(Becomes("/c/b", "weight", 500));
  EXPECT_EQ(Tenant("/c/b")["guarantee_bytes"], GiB(1).value);
  EXPECT_EQ(Tenant("/c/b")["limit_bytes"], GiB(3).value);
  EXPECT_EQ(Tenant("/c/a")["weight"], 30);
  fs::remove(daemon_.run() + "/tenants.d/a.toml");
  EXPECT_TRUE(Becomes("/c/a", "weight", {}));
}

// Whoever asks for nothing is bounded all the same, and the log does not say that it asked.
TEST_F(ContainerTenants, AskForNothingAndAreBounded) {
  Allow("weight = 50\nguarantee = \"1GiB\"\nlimit = \"3GiB\"\nclass = \"batch\"\n");
  Start();
  Ask("a.toml", "name = \"container-a\"\ncgroup = \"/c/a\"\n");
  EXPECT_TRUE(Becomes("/c/a", "weight", 50));
  EXPECT_EQ(Tenant("/c/a")["limit_bytes"], GiB(3).value);
  EXPECT_EQ(Tenant("/c/a")["guarantee_bytes"], 0);
  EXPECT_EQ(Tenant("/c/a")["class"], "batch");
  EXPECT_THAT(daemon_.said(), Not(HasSubstr("asks for more")));
}

TEST_F(ContainerTenants, AnErrorInContainersTomlIsTheOperators) {
  Allow("weight = 0\n");
  EXPECT_THAT(daemon_.StartInVain(), Not(HasSubstr("listens")));
}

TEST_F(ContainerTenants, HurtNobodyByWhatDoesNotFit) {
  Allow("guarantee = \"8GiB\"\n");
  daemon_.WriteTenant("train.toml", "cgroup = \"/train\"\nguarantee = \"5GiB\"\nweight = 200\n");
  Start();
  // 8 GiB are there for guarantees.
  Ask("a.toml", "cgroup = \"/c/a\"\nguarantee = \"2GiB\"\nweight = 10\n");
  EXPECT_TRUE(Becomes("/c/a", "guarantee_bytes", GiB(2).value));
  Ask("0.toml", "cgroup = \"/c/0\"\nguarantee = \"2GiB\"\nweight = 11\n");
  EXPECT_TRUE(Becomes("/c/0", "weight", 11));
  EXPECT_EQ(Tenant("/c/0")["guarantee_bytes"], 0) << "who came first has it";
  EXPECT_EQ(Tenant("/c/a")["guarantee_bytes"], GiB(2).value);
  Ask("1.toml", "cgroup = \"/c/1\"\nweight = wrong\n");
  Ask("2.toml", "cgroup = \"/train\"\nweight = 1\n");
  Ask("3.toml", "cgroup = \"/c/3\"\nname = \"train\"\nweight = 13\n");
  EXPECT_TRUE(Becomes("/c/3", "weight", 13));
  EXPECT_EQ(Tenant("/train")["weight"], 200);
  EXPECT_EQ(Tenant("/train")["name"], "train");
  daemon_.WaitToSay("1.toml:2: ");
  // The operator's word goes before theirs.
  EXPECT_EQ(daemon_.Set("/train", "guarantee", "7GiB"), "");
  EXPECT_TRUE(Becomes("/c/a", "guarantee_bytes", 0));
  EXPECT_EQ(Tenant("/c/a")["weight"], 10);
  EXPECT_EQ(Tenant("/train")["guarantee_bytes"], GiB(7).value);
}

TEST_F(ContainerTenants, WhatWasSetOutlivesTheirComingAndGoing) {
  daemon_.WriteTenant("train.toml", "cgroup = \"/train\"\nweight = 200\n");
  Start();
  Ask("a.toml", "cgroup = \"/c/a\"\nweight = 10\n");
  EXPECT_TRUE(Becomes("/c/a", "weight", 10));
  EXPECT_EQ(daemon_.Set("/train", "weight", "300"), "");
  EXPECT_EQ(daemon_.Set("/c/a", "weight", "400"), "");
  Ask("b.toml", "cgroup = \"/c/b\"\nweight = 20\n");
  EXPECT_TRUE(Becomes("/c/b", "weight", 20));
  EXPECT_EQ(Tenant("/train")["weight"], 300);
  EXPECT_EQ(Tenant("/c/a")["weight"], 400);
}

TEST_F(ContainerTenants, AreThereAgainAfterTheDaemon) {
  Start();
  Ask("a.toml", "cgroup = \"/c/a\"\nweight = 10\n");
  EXPECT_TRUE(Becomes("/c/a", "weight", 10));
  struct stat folder = {};
  ASSERT_EQ(stat((daemon_.run() + "/tenants.d").c_str(), &folder), 0);
  EXPECT_EQ(folder.st_mode & 0777, 0700u);
  program_.reset();
  daemon_.Kill();
  Start();
  EXPECT_EQ(Tenant("/c/a")["weight"], 10);
}

}  // namespace
}  // namespace vramspan::broker_test
