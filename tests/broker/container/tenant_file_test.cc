// The files that hooks write, and the hook as runtimes run it.
#include "tools/broker/container/tenant_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>

#include "tests/tools/run_binary.h"

namespace vramspan::broker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
namespace fs = std::filesystem;

class HookTest : public ::testing::Test {
 protected:
  HookTest() {
    for (const char* name : {"/tenants.d", "/bundle", "/proc"}) {
      fs::create_directory(folder_.path() + name);
    }
    fs::permissions(tenants(), fs::perms(0700));
  }
  std::string tenants() const { return folder_.path() + "/tenants.d"; }
  std::string proc() const { return folder_.path() + "/proc"; }

  void Process(int pid, const std::string& cgroup, int started = 1234) const {
    const std::string process = proc() + "/" + std::to_string(pid);
    fs::create_directories(process);
    std::ofstream(process + "/cgroup") << "0::" << cgroup << "\n";
    // A name that looks like more fields.
    std::ofstream(process + "/stat")
        << pid << " (a) b 9) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 " << started
        << " 20 21\n";
  }
  void Variables(const std::string& list) const {
    std::ofstream(folder_.path() + "/bundle/config.json")
        << R"({"process":{"env":[)" << list << "]}}";
  }
  Output Run(const std::string& id, const std::string& status, int pid = 7) const {
    const std::string state = folder_.path() + "/state";
    std::ofstream(state) << R"({"id":")" << id << R"(","status":")" << status << R"(","pid":)"
                         << pid << R"(,"bundle":")" << folder_.path() << "/bundle\"}";
    return RunBinary("", "broker cdi-hook --run-directory '" + folder_.path() + "' --proc '" +
                             proc() + "' <'" + state + "'");
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(tenants())) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  const TemporaryFolder folder_;
};

TEST_F(HookTest, WritesAndRemovesTheContainersTenant) {
  Process(7, "/kubepods.slice/cri-containerd-c0ffee.scope/inner");
  Variables(R"("NVIDIA_GPU_MEMORY_REQUEST=1Gi","VRAMSPAN_WEIGHT=30")");
  const Output output = Run("c0ffee", "creating");
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(Files(), ElementsAre("c0ffee.toml"));
  EXPECT_EQ(ReadText(tenants() + "/c0ffee.toml"),
            "# vramspan broker cdi-hook: container of process 7 started 1234\n"
            "name = \"container-c0ffee\"\n"
            "cgroup = \"/kubepods.slice/cri-containerd-c0ffee.scope\"\n"
            "guarantee = \"1GiB\"\nweight = \"30\"\n");
  struct stat found = {};
  ASSERT_EQ(stat((tenants() + "/c0ffee.toml").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  Variables(R"("VRAMSPAN_WEIGHT=31")");
  EXPECT_EQ(Run("c0ffee", "created").code, 0);
  EXPECT_THAT(ReadText(tenants() + "/c0ffee.toml"), HasSubstr("weight = \"31\""));
  EXPECT_EQ(Run("c0ffee", "stopped").code, 0);
  EXPECT_THAT(Files(), IsEmpty());
  EXPECT_EQ(Run("c0ffee", "stopped").code, 0);
}

// Else what the operator allows containers would not bound it.
TEST_F(HookTest, WritesAFileForAContainerThatAsksForNothing) {
  Process(7, "/docker/c0ffee");
  Variables(R"("PATH=/bin")");
  EXPECT_EQ(Run("c0ffee", "creating").code, 0);
  EXPECT_THAT(ReadText(tenants() + "/c0ffee.toml"), Not(HasSubstr("weight")));
}

TEST_F(HookTest, RefusesWhatCannotBeHad) {
  Process(7, "/docker/c0ffee");
  Variables(R"("VRAMSPAN_WEIGHT=many")");
  const Output wrong = Run("c0ffee", "creating");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("VRAMSPAN_WEIGHT: weight: 'many'"));
  Variables(R"("VRAMSPAN_WEIGHT=2")");
  for (const char* cgroup : {"/", "/system.slice/docker.service", "/docker/c0ffee0", "/xc0ffee"}) {
    Process(7, cgroup);
    const Output output = Run("c0ffee", "creating");
    EXPECT_EQ(output.code, 1) << cgroup;
    EXPECT_THAT(output.err, HasSubstr("is not named for it")) << cgroup;
  }
  EXPECT_EQ(Run("c0ffee", "creating", 8).code, 1) << "there is no such process";
  EXPECT_EQ(Run("../bundle/config", "stopped").code, 1);
  EXPECT_THAT(Files(), IsEmpty());
  fs::permissions(tenants(), fs::perms(0777));
  EXPECT_THAT(Run("c0ffee", "stopped").err, HasSubstr("the broker alone can change"));
}

TEST_F(HookTest, TouchesNoFileOfAnothers) {
  Process(7, "/docker/c0ffee");
  Variables(R"("VRAMSPAN_WEIGHT=2")");
  const std::string file = tenants() + "/c0ffee.toml";
  std::ofstream(file) << "cgroup = \"/a\"\n";
  EXPECT_EQ(Run("c0ffee", "creating").code, 1);
  EXPECT_EQ(Run("c0ffee", "stopped").code, 0);
  EXPECT_EQ(ReadText(file), "cgroup = \"/a\"\n");
  fs::remove(file);
  // Nor where a link leads.
  const std::string elsewhere = folder_.path() + "/elsewhere";
  std::ofstream(elsewhere) << "# vramspan broker cdi-hook: container of process 1 started 1\n";
  fs::create_symlink(elsewhere, file);
  EXPECT_EQ(Run("c0ffee", "creating").code, 1);
  EXPECT_EQ(Run("c0ffee", "stopped").code, 0);
  EXPECT_THAT(ReadText(elsewhere), HasSubstr("process 1"));
}

// A runtime that was killed told nobody. What it left is removed when the next container starts.
TEST_F(HookTest, SweepsWhatIsLeftOfTheDead) {
  Variables(R"("VRAMSPAN_WEIGHT=2")");
  for (int pid = 11; pid <= 13; ++pid) {
    Process(pid, "/docker/c" + std::to_string(pid));
    ASSERT_EQ(Run("c" + std::to_string(pid), "creating", pid).code, 0);
  }
  std::ofstream(tenants() + "/other.toml") << "cgroup = \"/a\"\n";
  fs::remove_all(proc() + "/11");
  Process(12, "/docker/c12", 99);  // Another process has the number.
  Process(7, "/docker/c0ffee");
  EXPECT_EQ(Run("c0ffee", "creating").code, 0);
  EXPECT_THAT(Files(), ElementsAre("c0ffee.toml", "c13.toml", "other.toml"));
}

TEST_F(HookTest, NamesAreWrittenAsTheyAre) {
  Process(7, "/a \\x2d\"b/docker-c0ffee.scope");
  const auto tenant = LookAtContainer(proc(), "c0ffee", 7);
  ASSERT_TRUE(tenant.ok()) << tenant.status();
  EXPECT_THAT(TenantText(*tenant), HasSubstr("cgroup = \"/a \\\\x2d\\\"b/docker-c0ffee.scope\"\n"));
  Process(7, "/a\tb/docker-c0ffee.scope");
  EXPECT_FALSE(LookAtContainer(proc(), "c0ffee", 7).ok());
}

}  // namespace
}  // namespace vramspan::broker
