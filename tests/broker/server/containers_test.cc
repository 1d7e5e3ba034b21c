// What containers get: a folder for clients that is there for good, and nothing for operators.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/lease/connection.h"
#include "tests/broker/server/program.h"

namespace vramspan::broker_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
namespace fs = std::filesystem;

// What lies below it, at any depth. Links lead nowhere: containers do not see what is beside.
std::vector<std::string> Below(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool Connects(const std::string& socket) {
  const std::vector<std::string> sockets = {socket};
  const StatusOr<int> opened = lease::Connection::Open(sockets);
  if (opened.ok()) close(*opened);
  return opened.ok();
}

// Libraries that are good enough to be mounted.
class Libraries {
 public:
  Libraries() {
    Put("libvramspan_stub.so");
    Put("libvramspan_preload.so");
    Put("hook", 0755);
    fs::create_directory(path() + "/vramspan");
    Put("vramspan/container.preload");
    for (const std::string& folder : {path(), path() + "/vramspan"}) {
      fs::permissions(folder, fs::perms(0755));
    }
  }
  std::string path() const { return folder_.path(); }

 private:
  void Put(const std::string& name, unsigned mode = 0644) const {
    std::ofstream(path() + "/" + name) << "x\n";
    fs::permissions(path() + "/" + name, fs::perms(mode));
  }
  const TemporaryFolder folder_;
};

// The hook is not the built binary: with some umasks others of a group can change that.
Output Cdi(const std::string& run, const std::string& libraries, const std::string& more = "") {
  return RunBinary("", "broker cdi --run-directory '" + run + "' --libraries '" + libraries +
                           "' --hook '" + libraries + "/hook' " + more);
}

TEST(Containers, ClientsHaveAFolderOfTheirOwn) {
  Daemon daemon;
  daemon.Start();
  const std::string clients = daemon.run() + "/clients";
  EXPECT_THAT(Below(clients), ElementsAre("broker.sock"));
  EXPECT_TRUE(Connects(clients + "/broker.sock"));
  EXPECT_TRUE(Connects(daemon.run() + "/broker.sock")) << "where the protocol has it";
  // As a container that has mounted it.
  const int mounted = open(clients.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  ASSERT_GE(mounted, 0);
  daemon.Kill();
  daemon.Start();
  EXPECT_TRUE(Connects(clients + "/broker.sock"));
  EXPECT_EQ(daemon.End(), 0);
  EXPECT_THAT(Below(clients), IsEmpty());
  daemon.Start();
  EXPECT_TRUE(Connects("/proc/self/fd/" + std::to_string(mounted) + "/broker.sock"));
  close(mounted);
  Program program(daemon, "/a");
  program.Hello(GiB(1));
  EXPECT_TRUE(Until({&program}, [&] { return program.grant() >= GiB(1); }));
}

// A broker of before has its socket where the link is to be.
TEST(Containers, AnOldSocketMakesRoom) {
  Daemon daemon;
  fs::create_directories(daemon.run());
  fs::permissions(daemon.run(), fs::perms(0755));
  std::ofstream(daemon.run() + "/broker.sock") << "x";
  daemon.Start();
  EXPECT_TRUE(Connects(daemon.run() + "/broker.sock"));
}

TEST(Containers, AFolderThatIsNotItsOwnIsRefused) {
  const TemporaryFolder elsewhere;
  for (const std::string kind : {"link", "shared", "file"}) {
    SCOPED_TRACE(kind);
    Daemon daemon;
    const std::string clients = daemon.run() + "/clients";
    fs::create_directories(daemon.run());
    fs::permissions(daemon.run(), fs::perms(0755));
    if (kind == "link") fs::create_directory_symlink(elsewhere.path(), clients);
    if (kind == "file") std::ofstream(clients) << "x";
    if (kind == "shared") {
      fs::create_directory(clients);
      fs::permissions(clients, fs::perms(0777));
    }
    EXPECT_THAT(daemon.StartInVain(), HasSubstr(clients));
    EXPECT_THAT(Below(elsewhere.path()), IsEmpty());
  }
}

TEST(Containers, TheSpecMountsNothingForOperators) {
  Daemon daemon;
  daemon.Start();
  const Libraries libraries;
  const Output output = Cdi(daemon.run(), libraries.path());
  ASSERT_EQ(output.code, 0) << output.err;
  const auto spec = nlohmann::json::parse(output.out);
  EXPECT_EQ(spec["cdiVersion"], "0.5.0");
  EXPECT_EQ(spec["kind"], "vramspan.io/gpu");
  ASSERT_EQ(spec["devices"].size(), 1u);
  EXPECT_EQ(spec["devices"][0]["name"], "all");
  std::vector<std::string> places;
  for (const auto& mount : spec["devices"][0]["containerEdits"]["mounts"]) {
    const std::string host = mount["hostPath"], place = mount["containerPath"];
    places.push_back(place);
    EXPECT_EQ(std::string(mount["options"][0]), "ro") << place;
    EXPECT_TRUE(fs::exists(host)) << host;
    EXPECT_EQ(place.find_first_of(" :"), std::string::npos) << "the loader splits there";
    EXPECT_NE(host, daemon.run());
    if (!fs::is_directory(host)) continue;
    EXPECT_THAT(Below(host), Not(::testing::Contains("control.sock"))) << host;
    EXPECT_THAT(Below(host), Not(::testing::Contains("lock"))) << host;
  }
  const auto& hooks = spec["devices"][0]["containerEdits"]["hooks"];
  ASSERT_EQ(hooks.size(), 2u);
  for (const auto& hook : hooks) {
    EXPECT_TRUE(hook["hookName"] == "createRuntime" || hook["hookName"] == "poststop");
    EXPECT_TRUE(std::string(hook["path"]).starts_with("/")) << hook;
    EXPECT_EQ(hook["args"].back(), daemon.run());
  }
  EXPECT_THAT(places, ElementsAre("/run/vramspan", "/usr/lib/vramspan/lib", "/etc/ld.so.preload"));
}

TEST(Containers, TheSpecIsWrittenAsAWhole) {
  Daemon daemon;
  daemon.Start();
  const Libraries libraries;
  // A space and a colon are the host's business.
  const TemporaryFolder folder;
  const std::string run = folder.path() + "/a b:c";
  fs::create_directory(run);
  fs::copy(libraries.path(), run, fs::copy_options::recursive);
  fs::permissions(run, fs::perms(0755));
  const std::string file = folder.path() + "/vramspan.json";
  std::ofstream(file) << "old";
  EXPECT_EQ(Cdi(daemon.run(), run + "/", "--output '" + file + "'").code, 0);
  const auto spec = nlohmann::json::parse(ReadText(file));
  EXPECT_EQ(spec["devices"][0]["containerEdits"]["mounts"][1]["hostPath"], run);
  EXPECT_THAT(Below(folder.path()), ::testing::Contains("vramspan.json"));
  EXPECT_EQ(Cdi(daemon.run(), run, "--output '" + folder.path() + "/none/x'").code, 1);
}

TEST(Containers, WhatIsNotFitToBeMountedIsRefused) {
  Daemon daemon;
  daemon.Start();
  const Libraries libraries;
  const auto refused = [&](const std::string& run, const std::string& from, const char* why) {
    const Output output = Cdi(run, from);
    EXPECT_NE(output.code, 0);
    EXPECT_EQ(output.out, "");
    EXPECT_THAT(output.err, HasSubstr(why));
  };
  refused("/nowhere", libraries.path(), "start the broker first");
  refused(daemon.run(), "/nowhere", "name its --libraries");
  refused(daemon.run() + "/a\nb", libraries.path(), "control characters");
  refused(daemon.run(), "/a\xff", "control characters");
  std::ofstream(daemon.run() + "/clients/control.sock") << "x";
  refused(daemon.run(), libraries.path(), "'control.sock', which containers would see; remove it");
  fs::remove(daemon.run() + "/clients/control.sock");
  EXPECT_EQ(Cdi(daemon.run(), libraries.path()).code, 0);
  fs::permissions(libraries.path(), fs::perms(0777));
  refused(daemon.run(), libraries.path(), "others can change it");
}

}  // namespace
}  // namespace vramspan::broker_test
