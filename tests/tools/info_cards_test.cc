// `vramspan info` on the cards and drivers that people have, as settings of the simulated driver.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/tools/run_binary.h"

namespace vramspan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

class InfoCardsTest : public ::testing::Test {
 protected:
  Output Info(const std::string& environment, const std::string& arguments = "") {
    return RunBinary(
        "XDG_CACHE_HOME='" + cache_.path() + "' SIMCUDA_DEVICE_MEMORY=40MiB " + environment,
        "info " + arguments);
  }

  // The last line is the verdict, in what works and in what does not.
  static std::string LastLine(const std::string& text) {
    const size_t end = text.rfind('\n');
    return text.substr(text.rfind('\n', end - 1) + 1, end - text.rfind('\n', end - 1) - 1);
  }

  TemporaryFolder cache_;
};

TEST_F(InfoCardsTest, DriversBetween125And128AreNotRefused) {
  for (const char* version : {"12050", "12060", "12080", "12090"}) {
    const Output info = Info(std::string("SIMCUDA_DRIVER_VERSION=") + version, "--measure");
    EXPECT_EQ(info.code, 0) << info.err;
    EXPECT_THAT(info.out, AllOf(HasSubstr("works here"), HasSubstr("atomic for kernels (tried)")));
    EXPECT_THAT(LastLine(info.out),
                StartsWith("verdict: works on device 0 (simcuda device 0) with"));
  }
}

TEST_F(InfoCardsTest, WhatTheAttributesSayDecidesNothing) {
  const Output info = Info("SIMCUDA_HOST_VMM_TOLD=0", "--format json");
  ASSERT_EQ(info.code, 0) << info.err;
  const Json device = Json::parse(info.out).at("devices")[0];
  EXPECT_EQ(device.at("capabilities").at("host_numa_vmm"), false);
  EXPECT_EQ(device.at("works"), true);
}

TEST_F(InfoCardsTest, WhereHostMemoryComesFromAndWhyNotFromNearer) {
  const Output anywhere = Info("SIMCUDA_HOST_NODES=none");
  EXPECT_EQ(anywhere.code, 0) << anywhere.err;
  EXPECT_THAT(anywhere.out, AllOf(HasSubstr("(tried); any NUMA node\n"),
                                  HasSubstr("not from          NUMA node 0: ")));
  const Output none = Info("SIMCUDA_HOST_NODES=none SIMCUDA_HOST_ANYWHERE=0");
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(LastLine(none.out),
              AllOf(StartsWith("verdict: does NOT work here: device 0 (simcuda device 0) cannot "
                               "map host memory with driver 13.0 (NUMA node 0: "),
                    HasSubstr("any NUMA node: ")));
  EXPECT_THAT(Info("SIMCUDA_HOST_NODES=none SIMCUDA_DRIVER_VERSION=12060").err,
              HasSubstr("update the NVIDIA driver to R580 or newer"));
}

TEST_F(InfoCardsTest, StreamOperationsOf64BitsAreNotNeeded) {
  const Output narrow = Info("SIMCUDA_STREAM_OPS=32");
  EXPECT_EQ(narrow.code, 0) << narrow.err;
  EXPECT_THAT(narrow.out, HasSubstr("supported (tried); of 64 bits NOT supported, not needed"));
  const Output none = Info("SIMCUDA_STREAM_OPS=0");
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("has no stream memory operations"));
  EXPECT_THAT(none.out, HasSubstr("NOT supported (tried)"));
}

// 209: no image of the build is for this device.
TEST_F(InfoCardsTest, WhereNoKernelCanBeLoadedCopiesTryHostMemory) {
  const Output info = Info("SIMCUDA_FAIL=cuModuleLoadData:always=209");
  EXPECT_EQ(info.code, 0) << info.err;
  EXPECT_THAT(info.out, AllOf(HasSubstr("works here"),
                              HasSubstr("readable, writable for copies (tried; no kernel: this "
                                        "build of vramspan carries no kernels")));
  const Output broken = Info("SIMCUDA_FAIL=cuModuleLoadData:always=209,cuMemcpyAsync:1");
  EXPECT_EQ(broken.code, 1);
  EXPECT_THAT(broken.err, AllOf(HasSubstr("does not reach host memory as it must"),
                                HasSubstr("copies from host memory failed: cuMemcpyAsync")));
}

// At a rate that any CPU reaches: what is measured is the link.
TEST_F(InfoCardsTest, ANarrowLinkAndOneEngineAreMeasured) {
  const auto copies = [this](const std::string& settings) {
    const Output info = Info("SIMCUDA_LINK=0.5,0.4 " + settings, "--measure --format json");
    EXPECT_EQ(info.code, 0) << info.err;
    const Json json = Json::parse(info.out);
    EXPECT_EQ(json.at("verdict").get<std::string>().find("one way at a time") != std::string::npos,
              settings == "SIMCUDA_COPY_ENGINES=1");
    return json.at("devices")[0].at("costs").at("copy_gb_per_s");
  };
  const Json one = copies("SIMCUDA_COPY_ENGINES=1");
  EXPECT_LE(one.at("to_device"), 0.5);
  EXPECT_LE(one.at("to_host"), 0.4);
  EXPECT_LE(one.at("both"), 0.45);
  const Json two = copies("SIMCUDA_COPY_ENGINES=2");
  EXPECT_LE(two.at("to_device"), 0.5);
  EXPECT_LE(two.at("both"), 0.8);
}

TEST_F(InfoCardsTest, WhatIsNoCardOfThisLinuxIsToldApart) {
  EXPECT_THAT(Info("SIMCUDA_DEVICE_NAME='NVIDIA A100-SXM4-40GB MIG 1g.5gb'").out,
              HasSubstr("  is                a MIG instance"));
  const Output vgpu = Info("SIMCUDA_DEVICE_NAME='GRID A100-10C' SIMCUDA_HOST_VMM=0");
  EXPECT_EQ(vgpu.code, 1);
  EXPECT_THAT(vgpu.err, AllOf(HasSubstr("a vGPU"), HasSubstr("ask its administrator")));
  // As under WSL2, where the driver lies in a folder of Windows'.
  const TemporaryFolder root;
  std::filesystem::create_directories(root.path() + "/usr/lib/wsl/lib");
  std::filesystem::copy(std::getenv("VRAMSPAN_DRIVER"),
                        root.path() + "/usr/lib/wsl/lib/libcuda.so.1");
  const std::string wsl = "VRAMSPAN_DRIVER='" + root.path() + "/usr/lib/wsl/lib/libcuda.so.1' ";
  EXPECT_THAT(Info(wsl).out, HasSubstr("(simcuda device 0, under WSL2) with"));
  // There only a driver that says that it can is taken at its word.
  EXPECT_THAT(Info(wsl + "SIMCUDA_HOST_VMM_TOLD=0").err,
              AllOf(HasSubstr("cannot map host memory with driver 13.0 (it does not say that it "
                              "can); under WSL2"),
                    HasSubstr("run on Linux itself")));
  const Output refused = Info(wsl + "SIMCUDA_HOST_VMM=0");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("cannot map host memory"), HasSubstr("under WSL2"),
                                 HasSubstr("run on Linux itself")));
}

class InfoIssueTest : public InfoCardsTest {
 protected:
  // What a user's shell may have, each of which is a secret.
  std::string Environment() const {
    return "HOME='" + home_.path() +
           "' USER=hermione LOGNAME=hermione HOSTNAME=hogwarts "
           "VRAMSPAN_TRUST='" +
           home_.path() +
           "/trust:/home/hermione/other' "
           "VRAMSPAN_TOKEN=alohomora API_KEY=alohomora ";
  }
  void ExpectNothingSecret(const std::string& text) const {
    EXPECT_THAT(text, AllOf(Not(HasSubstr("hermione")), Not(HasSubstr("hogwarts")),
                            Not(HasSubstr("alohomora")), Not(HasSubstr("API_KEY")),
                            Not(HasSubstr(home_.path())), Not(HasSubstr(cache_.path())),
                            Not(HasSubstr("GPU-"))));
  }

  TemporaryFolder home_;
};

TEST_F(InfoIssueTest, IsABlockWithoutSecrets) {
  std::ofstream(home_.path() + "/trust") << "not a trust file\n";
  for (const char* how : {"", "--measure"}) {
    const Output info = Info(Environment(), std::string("--format issue ") + how);
    EXPECT_EQ(info.code, 0) << info.err;
    EXPECT_THAT(info.out, StartsWith("```text\nvramspan "));
    EXPECT_EQ(LastLine(info.out), "```");
    EXPECT_THAT(info.out,
                AllOf(HasSubstr(": works on device 0 (simcuda device 0) with"),
                      HasSubstr("  system            Linux "), HasSubstr("may be pinned now"),
                      HasSubstr("memlock"), HasSubstr("VRAMSPAN_TOKEN"),
                      HasSubstr("trusted code, a file: NONE"), HasSubstr("copies            to ")));
    ExpectNothingSecret(info.out);
  }
}

TEST_F(InfoIssueTest, SaysWhatIsWrongWhereItDoesNotWork) {
  const Output info = Info(Environment() + "SIMCUDA_HOST_VMM=0", "--format issue");
  EXPECT_EQ(info.code, 1);
  EXPECT_THAT(info.out, HasSubstr("does NOT work here: device 0 (simcuda device 0) cannot map"));
  ExpectNothingSecret(info.out);
}

TEST_F(InfoIssueTest, IsThereWithoutADriver) {
  const Output info =
      Info(Environment() + "VRAMSPAN_DRIVER='" + home_.path() + "/libcuda.so.1'", "--format issue");
  EXPECT_EQ(info.code, 1);
  EXPECT_THAT(info.out, AllOf(HasSubstr("does NOT work here: no CUDA driver: opening ~/libcuda"),
                              HasSubstr("  system            Linux ")));
  ExpectNothingSecret(info.out);
}

}  // namespace
}  // namespace vramspan
