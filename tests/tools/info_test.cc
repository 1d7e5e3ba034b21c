// `vramspan info` as a user runs it. The environment of these tests names the simulated driver in
// VRAMSPAN_DRIVER; where that matters a test says otherwise.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/tools/run_binary.h"

namespace vramspan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::json;

class InfoTest : public ::testing::Test {
 protected:
  // A small device, so that there is less to copy.
  Output Info(const std::string& arguments, const std::string& environment = "") {
    return RunBinary(
        "XDG_CACHE_HOME='" + cache_.path() + "' SIMCUDA_DEVICE_MEMORY=40MiB " + environment,
        "info " + arguments);
  }

  static Json Parse(const Output& output) {
    Json json = Json::parse(output.out, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << output.out;
    return json;
  }

  std::filesystem::path CacheFile() {
    for (const auto& entry : std::filesystem::directory_iterator(cache_.path() + "/vramspan")) {
      return entry.path();
    }
    return {};
  }

  TemporaryFolder cache_;
};

TEST_F(InfoTest, TheTableSaysThatItWorksAndWhatThingsCost) {
  const Output info = Info("");
  EXPECT_EQ(info.code, 0) << info.err;
  EXPECT_THAT(info.err, IsEmpty());
  EXPECT_THAT(info.out,
              AllOf(HasSubstr("CUDA 13.0"), HasSubstr("device 0: simcuda"), HasSubstr("works here"),
                    HasSubstr("readable, writable, atomic for kernels"),
                    HasSubstr("device 2 MiB, host 2 MiB"), HasSubstr("\n  64 MiB "),
                    HasSubstr("to device "), HasSubstr("kernel on host"), HasSubstr("held launch"),
                    HasSubstr("just measured")));
}

TEST_F(InfoTest, SaysWhatEvidenceThereIsOfKernels) {
  const std::string good = cache_.path() + "/good", bad = cache_.path() + "/bad";
  std::ofstream(good) << "vramspan-trust 1\nkernel 9 4 3 00000000000000ab f\nkernel 9 4 99 - g\n";
  std::ofstream(bad) << "vramspan-trust 2\n";
  const std::string files = "VRAMSPAN_TRUST='" + good + ":" + bad + "' ";
  const Output info = Info("", files);
  EXPECT_EQ(info.code, 0) << info.err;
  EXPECT_THAT(info.out, AllOf(HasSubstr("trusted code, built in: "),
                              HasSubstr("trusted code, " + good + ": 1 codes are proven\n"),
                              HasSubstr("trusted code, " + bad + ": NONE: " + bad + ", line 1"),
                              HasSubstr("audits            can count: `vramspan audit --trust")));
  EXPECT_THAT(Info("", "SIMCUDA_COUNTERS=0").out,
              AllOf(HasSubstr("audits            CANNOT count: "),
                    HasSubstr("; `vramspan prove --trust FILE -- program` needs no counters\n")));
  const Output denied = Info("--format json", files + "SIMCUDA_COUNTERS=0");
  EXPECT_EQ(denied.code, 0) << "memory can be had all the same";
  const Json json = Parse(denied);
  EXPECT_GT(json.at("trust")[0].at("proven"), 1000);
  EXPECT_EQ(json.at("trust")[1].at("proven"), 1);
  EXPECT_TRUE(json.at("trust")[1].at("wrong").is_null());
  EXPECT_TRUE(json.at("trust")[2].at("wrong").is_string());
  const Json& device = json.at("devices")[0];
  EXPECT_FALSE(device.at("audits_can_count"));
  EXPECT_THAT(device.at("audits_lack").get<std::string>(),
              HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
}

TEST_F(InfoTest, SaysWhatReadsCodeAsProgramsRun) {
  const std::string program = cache_.path() + "/nvdisasm", python = cache_.path() + "/python3";
  std::ofstream(python) << "#!/bin/sh\n";
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  const std::string path = "CUDA_HOME= CUDA_PATH= PATH='" + cache_.path() + ":/usr/bin:/bin' ";
  if (!std::filesystem::exists("/usr/local/cuda/bin/nvdisasm") &&
      !std::filesystem::exists("/usr/bin/nvdisasm")) {
    EXPECT_THAT(Info("", path).out, HasSubstr("\ncode is NOT read as programs run: there is no "));
    EXPECT_THAT(Info("", path).out, HasSubstr("; install NVIDIA's cuda-nvdisasm\n"));
    EXPECT_TRUE(Parse(Info("--format json", path)).at("nvdisasm").is_null());
  }
  std::ofstream(program) << "#!/bin/sh\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  EXPECT_THAT(Info("", path).out, HasSubstr("\ncode is read as programs run by " + program + "\n"));
  EXPECT_EQ(Parse(Info("--format json", path)).at("nvdisasm"), program);
  EXPECT_THAT(Info("--format issue", path).out, Not(HasSubstr(program)));
}

TEST_F(InfoTest, JsonHasAVersionAndEveryFigure) {
  const Output info = Info("--format json", "SIMCUDA_DEVICE_MEMORY=96MiB");
  ASSERT_EQ(info.code, 0) << info.err;
  EXPECT_THAT(info.err, IsEmpty());
  const Json json = Parse(info);
  EXPECT_EQ(json.at("schema"), "vramspan.info");
  EXPECT_EQ(json.at("schema_version"), 1);
  EXPECT_EQ(json.at("driver").at("version"), 13000);
  EXPECT_EQ(json.at("driver").at("simulated"), true);
  ASSERT_EQ(json.at("devices").size(), 1u);
  const Json& device = json.at("devices")[0];
  EXPECT_EQ(device.at("works"), true);
  EXPECT_TRUE(device.at("missing").is_null());
  EXPECT_EQ(device.at("memory_bytes").at("total"), 96u << 20);
  EXPECT_EQ(device.at("granularity_bytes").at("host"), 2u << 20);
  for (const char* what : {"readable", "writable", "atomic"}) {
    EXPECT_EQ(device.at("host_memory_probed").at(what), true) << what;
  }
  EXPECT_GT(device.at("default_budget_bytes").at("device"), 0);
  const Json& costs = device.at("costs");
  ASSERT_EQ(costs.at("handle_us").size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    const Json& chunk = costs.at("handle_us")[i];
    EXPECT_EQ(chunk.at("bytes"), (2u << 20) << i);
    for (const char* memory : {"device", "host"}) {
      for (const char* call : {"create", "map", "access", "unmap", "release"}) {
        EXPECT_GT(chunk.at(memory).at(call), 0) << memory << " " << call;
      }
    }
  }
  for (const char* way : {"to_device", "to_host", "both"}) {
    EXPECT_GT(costs.at("copy_gb_per_s").at(way), 0) << way;
  }
  EXPECT_GT(costs.at("kernel_on_host_gb_per_s").at("read"), 0);
  EXPECT_GT(costs.at("kernel_on_host_gb_per_s").at("write"), 0);
  EXPECT_GT(costs.at("hold_us").at("call"), 0);
  EXPECT_GT(costs.at("hold_us").at("release"), 0);
}

TEST_F(InfoTest, CostsAreMeasuredOncePerDeviceUnlessAskedAgain) {
  const Json first = Parse(Info("--format json")).at("devices")[0];
  EXPECT_EQ(first.at("costs_cached"), false);
  EXPECT_EQ(CacheFile().filename().string(), first.at("uuid").get<std::string>() + ".json");
  const Json second = Parse(Info("--format json")).at("devices")[0];
  EXPECT_EQ(second.at("costs_cached"), true);
  EXPECT_EQ(second.at("costs"), first.at("costs"));
  const Json third = Parse(Info("--format json --measure")).at("devices")[0];
  EXPECT_EQ(third.at("costs_cached"), false);
  EXPECT_NE(third.at("costs"), first.at("costs"));
  EXPECT_EQ(Parse(Info("--format json")).at("devices")[0].at("costs"), third.at("costs"));
}

TEST_F(InfoTest, ADamagedCacheIsMeasuredAgainAndSaidSo) {
  ASSERT_EQ(Info("").code, 0);
  const std::string good = ReadText(CacheFile().string());
  std::ofstream(CacheFile()) << good.substr(0, good.size() / 2);
  const Output info = Info("");
  EXPECT_EQ(info.code, 0);
  EXPECT_THAT(info.err, AllOf(HasSubstr("measuring again"), HasSubstr(CacheFile().string())));
  EXPECT_THAT(Info("").err, IsEmpty()) << "it was replaced";
}

TEST_F(InfoTest, FiguresOfAnotherDriverAreNotUsed) {
  ASSERT_EQ(Info("").code, 0);
  const Output info = Info("", "SIMCUDA_DRIVER_VERSION=13010");
  EXPECT_EQ(info.code, 0) << info.err;
  EXPECT_THAT(info.err, HasSubstr("measured with another driver"));
}

TEST_F(InfoTest, RuntimesAreLeftWhatTheyDecideBy) {
  ASSERT_EQ(Info("").code, 0);
  const std::filesystem::path prices = CacheFile().replace_extension(".prices");
  const std::string written = ReadText(prices.string());
  EXPECT_THAT(written, AllOf(HasSubstr("serve_gb_per_s"), HasSubstr("move_gb_per_s")));
  // An older version left no such file beside its figures.
  std::filesystem::remove(prices);
  ASSERT_EQ(Info("").code, 0);
  EXPECT_EQ(ReadText(prices.string()), written);
}

TEST_F(InfoTest, ACacheThatCannotBeWrittenIsAWarning) {
  const Output info = Info("", "XDG_CACHE_HOME=/dev/null/nowhere");
  EXPECT_EQ(info.code, 0);
  EXPECT_THAT(info.out, HasSubstr("just measured, not kept"));
  EXPECT_THAT(info.err, AllOf(HasSubstr("not kept"), HasSubstr("/dev/null/nowhere")));
}

TEST_F(InfoTest, WithoutADriverASentenceSaysWhatIsMissing) {
  const Output info = Info("", "VRAMSPAN_DRIVER=/nowhere/libcuda.so.1");
  EXPECT_EQ(info.code, 1);
  EXPECT_THAT(info.out, IsEmpty());
  EXPECT_THAT(info.err, AllOf(HasSubstr("no CUDA driver"), HasSubstr("/nowhere/libcuda.so.1"),
                              HasSubstr("--simulate")));
}

TEST_F(InfoTest, SimulateNeedsNothingButTheBinary) {
  const Output info = Info("--simulate", "LD_LIBRARY_PATH= VRAMSPAN_DRIVER=/nowhere");
  EXPECT_EQ(info.code, 0) << info.err;
  EXPECT_THAT(info.out, HasSubstr("simulated driver /"));
}

TEST_F(InfoTest, AnOldDriverIsNamedWithWhatIsNeeded) {
  const Output info = Info("", "SIMCUDA_DRIVER_VERSION=12020");
  EXPECT_EQ(info.code, 1);
  EXPECT_THAT(info.err, AllOf(HasSubstr("version 12.2"), HasSubstr("update the NVIDIA driver")));
}

TEST_F(InfoTest, WithoutHostBackedMemoryItCannotWork) {
  const Output info = Info("--format json", "SIMCUDA_HOST_VMM=0");
  EXPECT_EQ(info.code, 1);
  EXPECT_THAT(info.err, AllOf(HasSubstr("NUMA node 0: "), HasSubstr("cannot map host memory")));
  const Json device = Parse(info).at("devices")[0];
  EXPECT_EQ(device.at("works"), false);
  EXPECT_THAT(device.at("missing").get<std::string>(), HasSubstr("NUMA node 0: "));
  EXPECT_TRUE(device.at("host_memory_probed").is_null());
  EXPECT_TRUE(device.at("costs").is_null());
}

TEST_F(InfoTest, OneDeviceOfSeveralCanBePicked) {
  const Output all = Info("--format json", "SIMCUDA_DEVICES=2");
  ASSERT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(Parse(all).at("devices").size(), 2u);
  const Json one = Parse(Info("--format json --device 1", "SIMCUDA_DEVICES=2"));
  ASSERT_EQ(one.at("devices").size(), 1u);
  EXPECT_EQ(one.at("devices")[0].at("ordinal"), 1);
  EXPECT_NE(one.at("devices")[0].at("uuid"), Parse(all).at("devices")[0].at("uuid"));
  const Output none = Info("--device 2", "SIMCUDA_DEVICES=2");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("no device 2; use 0 to 1"));
}

TEST_F(InfoTest, OnASmallDeviceTheLargestChunksAreLeftOut) {
  const Output info = Info("--format json", "SIMCUDA_DEVICE_MEMORY=48MiB");
  ASSERT_EQ(info.code, 0) << info.err;
  const Json costs = Parse(info).at("devices")[0].at("costs");
  EXPECT_TRUE(costs.at("handle_us")[5].at("device").is_null());
  EXPECT_FALSE(costs.at("handle_us")[5].at("host").is_null());
  EXPECT_FALSE(costs.at("handle_us")[2].at("device").is_null());
  EXPECT_GT(costs.at("copy_gb_per_s").at("to_host"), 0);
  EXPECT_THAT(Info("", "SIMCUDA_DEVICE_MEMORY=48MiB").out, HasSubstr("\n  64 MiB         -"));
}

TEST_F(InfoTest, OutputThatCannotBeWrittenIsAnError) {
  EXPECT_EQ(Info(">/dev/full; exit $? #").code, 1);
  // Nor is a file that happens to be opened in stdout's place.
  EXPECT_EQ(Info("--simulate >&-; exit $? #").code, 1);
  for (const char* const printed : {"--help", "--version", "help run"}) {
    const Output full = RunBinary("", absl::StrCat(printed, " >/dev/full; exit $? #"));
    EXPECT_EQ(full.code, 1) << printed;
  }
}

TEST(Usage, MistakesExitWithTwoAndNameWhatWasWrong) {
  const struct {
    const char* arguments;
    const char* words;
  } cases[] = {
      {"", "vramspan: a command is missing; use one of audit, broker"},
      {"broker", "vramspan broker: a command is missing; use one of serve, status"},
      {"run --", "vramspan run: program is required"},
      {"run --polic cost -- true", "'--polic' was not expected; did you mean '--policy'?\n"},
      {"run --record a --record b -- true", "vramspan run: --record is given more than once\n"},
      {"run -device-memory 8GiB true", "; did you mean '--device-memory'?\n"},
      {"inof", "no command 'inof'"},
      {"inof", "; did you mean 'info'?\n"},
      {"repl", "; did you mean 'replay'?\n"},
      {"help reprot", "no command 'reprot'"},
      {"trace dmup", "; did you mean 'dump'?\n"},
      {"info --nonsense", "--nonsense"},
      {"info --format xml",
       "vramspan info: --format: 'xml' is unknown; use one of table, json, issue"},
      {"info --device -1", "vramspan info: --device: '-1' is not a number from 0 to 1023"},
      {"info --device x", "vramspan info: --device: 'x' is not a number from 0 to 1023"},
      {"info --simulate --device 1", "there is no device 1; use 0, the only one"},
      {"info extra", "vramspan info: 'extra' was not expected\n`vramspan info --help`"},
      {"replay --nonsense", "vramspan replay: '--nonsense' was not expected"},
      {"replay", "vramspan replay: traces is required"},
      {"trace nonsense", "vramspan trace: there is no command 'nonsense'; use one of info, stats"},
      {"trace dump --limit -1 x", "vramspan trace dump: --limit: '-1' is less than 0"},
      {"trace stats --top -1 x", "vramspan trace stats: --top: '-1' is less than 0"},
      {"audit --top -1 -- true", "vramspan audit: --top: '-1' is less than 0"},
  };
  for (const auto& c : cases) {
    const Output output = RunBinary("", c.arguments);
    EXPECT_EQ(output.code, 2) << c.arguments;
    EXPECT_THAT(output.err, HasSubstr(c.words)) << c.arguments;
    EXPECT_THAT(output.out, IsEmpty()) << c.arguments;
  }
}

}  // namespace
}  // namespace vramspan
