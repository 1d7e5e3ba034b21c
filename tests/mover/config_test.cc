// vramspanCreate on what it cannot accept: a CUresult, a sentence with the value and what is
// allowed, the out-parameter as it was, and nothing left behind.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "tests/mover/world.h"

namespace vramspan_test {
namespace {

class ConfigTest : public MoverTest {
 protected:
  ConfigTest() : device_before_(world_.memory_used(0)), host_before_(world_.memory_used(-1)) {}
  ~ConfigTest() override {
    vramspanRuntime runtime = nullptr;
    const RuntimeOptions options;
    const vramspanConfig config = Config(options);
    EXPECT_SPAN(vramspanCreate(&runtime, &config)) << "after a refusal";
    EXPECT_SPAN(vramspanDestroy(runtime));
    EXPECT_EQ(world_.memory_used(0), device_before_) << "device memory leaked";
    EXPECT_EQ(world_.memory_used(-1), host_before_) << "host memory leaked";
  }

  // The error's text after `change` to a good configuration.
  static std::string Refusal(const std::function<void(vramspanConfig&)>& change,
                             CUresult expected = CUDA_ERROR_INVALID_VALUE) {
    const RuntimeOptions options;
    vramspanConfig config = Config(options);
    change(config);
    int nothing = 0;
    const auto untouched = reinterpret_cast<vramspanRuntime>(&nothing);
    vramspanRuntime runtime = untouched;
    EXPECT_EQ(vramspanCreate(&runtime, &config), expected) << LastError();
    EXPECT_EQ(runtime, untouched) << "written although the call failed";
    if (runtime != untouched) vramspanDestroy(runtime);
    return LastError();
  }

  static void ExpectSays(const std::string& text, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) {
      EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
    }
  }

  const long long device_before_, host_before_;
};

// Neither sizes nor shares of anything.
constexpr const char* kNoBudgets[] = {
    "",       "8Gib",       "-1",        "120%",   "0",     "0%",    "-5%",
    "%",      "lots",       "8 MiB",     " 8MiB",  "8MiB ", "8MiBs", "1e9",
    "0x1000", "1.5",        "+8MiB",     "8,5GiB", "50%%",  "MiB",   "99999999999999999999GiB",
    "nan",    "9000000TiB", "100.0001%", "50 %"};

TEST_F(ConfigTest, DeviceBudgetsThatAreNone) {
  for (const char* text : kNoBudgets) {
    SCOPED_TRACE(std::string("'") + text + "'");
    ExpectSays(Refusal([&](vramspanConfig& c) { c.device_memory = text; }),
               {"VRAMSPAN_DEVICE_MEMORY", std::string("'") + text + "'", "; use ", "100%", "GiB"});
  }
}

TEST_F(ConfigTest, HostBudgetsThatAreNone) {
  for (const char* text : kNoBudgets) {
    SCOPED_TRACE(std::string("'") + text + "'");
    ExpectSays(Refusal([&](vramspanConfig& c) { c.host_memory = text; }),
               {"VRAMSPAN_HOST_MEMORY", std::string("'") + text + "'", "; use ", "100%", "GiB"});
  }
}

TEST_F(ConfigTest, DeviceBudgetsOfTheWrongSize) {
  ExpectSays(Refusal([](vramspanConfig& c) { c.device_memory = "1MiB"; }),
             {"VRAMSPAN_DEVICE_MEMORY", "1MiB", "at least 2MiB"});
  ExpectSays(Refusal([](vramspanConfig& c) { c.device_memory = "0.0001%"; }),
             {"VRAMSPAN_DEVICE_MEMORY", "0.0001%", "at least 2MiB"});
  ExpectSays(Refusal([](vramspanConfig& c) { c.device_memory = "4TiB"; }),
             {"VRAMSPAN_DEVICE_MEMORY", "4TiB", "more than the device's"});
}

TEST_F(ConfigTest, HostBudgetsOfTheWrongSize) {
  ExpectSays(Refusal([](vramspanConfig& c) { c.host_memory = "4096TiB"; }),
             {"VRAMSPAN_HOST_MEMORY", "4503599627370496", "more than the machine's"});
}

TEST_F(ConfigTest, ChunkSizesThatAreNone) {
  for (const char* text : {"", "3MiB", "1MiB", "128MiB", "0", "-2MiB", "2mib", "Auto", "2097153"}) {
    SCOPED_TRACE(std::string("'") + text + "'");
    ExpectSays(Refusal([&](vramspanConfig& c) { c.chunk = text; }),
               {"VRAMSPAN_CHUNK", text, "auto, 2MiB, 4MiB", "64MiB"});
  }
}

TEST_F(ConfigTest, PoliciesThatAreNone) {
  for (const char* text : {"", "LRU", "lru ", "belady", "most-recently-used"}) {
    SCOPED_TRACE(std::string("'") + text + "'");
    ExpectSays(Refusal([&](vramspanConfig& c) { c.policy = text; }),
               {"VRAMSPAN_POLICY", std::string("'") + text + "'",
                "arc, clock, cost, cycle, fifo, lfu, lru, random, s3fifo, sieve"});
  }
}

TEST_F(ConfigTest, ArenasThatAreNone) {
  for (const char* text : {"", "0", "-4TiB", "50%", "4 TiB", "9000000TiB"}) {
    SCOPED_TRACE(std::string("'") + text + "'");
    ExpectSays(Refusal([&](vramspanConfig& c) { c.arena = text; }),
               {"VRAMSPAN_ARENA", std::string("'") + text + "'", "; use "});
  }
}

TEST_F(ConfigTest, ArenasThatHoldNoChunk) {
  for (const char* text : {"1", "2MiB", "67108863"}) {
    SCOPED_TRACE(text);
    ExpectSays(Refusal([&](vramspanConfig& c) { c.arena = text; }),
               {"VRAMSPAN_ARENA", text, "at least 64MiB"});
  }
}

// Whatever a value holds, the message is a line of text, and no long one.
TEST_F(ConfigTest, ValuesAreRepeatedAsText) {
  const std::string evil = "\x1b]0;title\x07\x1b[2J\n\r" + std::string(5000, 'x') + "\xff";
  const char* vramspanConfig::*const fields[] = {
      &vramspanConfig::device_memory, &vramspanConfig::host_memory, &vramspanConfig::chunk,
      &vramspanConfig::policy,        &vramspanConfig::arena,       &vramspanConfig::tracer,
      &vramspanConfig::overlap};
  for (const auto field : fields) {
    const std::string said = Refusal([&](vramspanConfig& c) { c.*field = evil.c_str(); });
    EXPECT_LT(said.size(), 400u) << said;
    EXPECT_NE(said.find("\ufffd]0;title"), std::string::npos) << said;
    for (const char c : said) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20) << said;
  }
}

TEST_F(ConfigTest, FlagsAndSizesOfAnotherVersion) {
  ExpectSays(Refusal([](vramspanConfig& c) { c.flags = 0x81; }), {"flags", "0x80"});
  for (const size_t size : {size_t{0}, sizeof(vramspanConfig) - 4, sizeof(vramspanConfig) + 8}) {
    ExpectSays(Refusal([&](vramspanConfig& c) { c.struct_size = size; }),
               {"struct_size is " + std::to_string(size), std::to_string(sizeof(vramspanConfig))});
  }
}

TEST_F(ConfigTest, DevicesThatAreNotThere) {
  EXPECT_CU(world_.api().CtxSetCurrent(nullptr));
  for (const int device : {-1, 1, 1000}) {
    ExpectSays(Refusal([&](vramspanConfig& c) { c.device = device; }),
               {"no device " + std::to_string(device), "this machine has 1"});
  }
  EXPECT_CU(world_.api().CtxSetCurrent(world_.context()));
}

TEST_F(ConfigTest, NowhereToPutTheRuntime) {
  EXPECT_EQ(vramspanCreate(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  ExpectSays(LastError(), {"out-parameter is NULL"});
}

// What the configuration leaves open comes from the environment, and is named by its variable.
TEST_F(ConfigTest, EnvironmentVariables) {
  const struct {
    const char* variable;
    const char* vramspanConfig::*field;
    const char* bad;
  } settings[] = {{"VRAMSPAN_DEVICE_MEMORY", &vramspanConfig::device_memory, "8Gib"},
                  {"VRAMSPAN_HOST_MEMORY", &vramspanConfig::host_memory, "120%"},
                  {"VRAMSPAN_CHUNK", &vramspanConfig::chunk, "5MiB"},
                  {"VRAMSPAN_POLICY", &vramspanConfig::policy, "best"},
                  {"VRAMSPAN_ARENA", &vramspanConfig::arena, "none"}};
  for (const auto& setting : settings) {
    SCOPED_TRACE(setting.variable);
    setenv(setting.variable, setting.bad, 1);
    ExpectSays(Refusal([&](vramspanConfig& c) { c.*setting.field = nullptr; }),
               {setting.variable, setting.bad});
    // What the program says counts more.
    const RuntimeOptions options;
    vramspanConfig config = Config(options);
    config.policy = "fifo";
    vramspanRuntime runtime = nullptr;
    EXPECT_SPAN(vramspanCreate(&runtime, &config));
    EXPECT_SPAN(vramspanDestroy(runtime));
    // An empty variable is as good as none.
    setenv(setting.variable, "", 1);
    config.*setting.field = nullptr;
    EXPECT_SPAN(vramspanCreate(&runtime, &config));
    EXPECT_SPAN(vramspanDestroy(runtime));
    unsetenv(setting.variable);
  }
}

TEST_F(ConfigTest, DriversThatAreNone) {
  ExpectSays(Refusal([](vramspanConfig& c) { c.driver = "/nonexistent/libcuda.so.1"; },
                     CUDA_ERROR_NOT_FOUND),
             {"/nonexistent/libcuda.so.1", "install the NVIDIA driver", "VRAMSPAN_DRIVER"});
  ExpectSays(Refusal([](vramspanConfig& c) { c.driver = "libm.so.6"; }, CUDA_ERROR_ILLEGAL_STATE),
             {"libm.so.6", "not a CUDA driver"});
}

// Looks at a driver of its own, since settings are read once: these run in a process each, which
// prints the error.
[[noreturn]] void CreateWith(const char* variable, const char* value, CUresult expected) {
  setenv(variable, value, 1);
  vramspanRuntime runtime = nullptr;
  const CUresult result = vramspanCreate(&runtime, nullptr);
  std::fprintf(stderr, "%s\n", vramspanLastErrorMessage());
  std::exit(result == expected && runtime == nullptr ? 0 : 1);
}

class ConfigDeathTest : public testing::Test {
 protected:
  ConfigDeathTest() { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(ConfigDeathTest, ADriverThatIsTooOld) {
  EXPECT_EXIT(CreateWith("SIMCUDA_DRIVER_VERSION", "11080", CUDA_ERROR_ILLEGAL_STATE),
              testing::ExitedWithCode(0), "has version 11.8, and vramspan needs 12.5 or newer");
}

TEST_F(ConfigDeathTest, ADriverWithoutHostBackedMemory) {
  EXPECT_EXIT(CreateWith("SIMCUDA_HOST_VMM", "0", CUDA_ERROR_ILLEGAL_STATE),
              testing::ExitedWithCode(0),
              "cannot map host memory with driver .*NUMA node 0: .*NOT_SUPPORTED.*any NUMA node: ");
}

TEST_F(ConfigDeathTest, NoDriverWhereTheEnvironmentSays) {
  EXPECT_EXIT(CreateWith("VRAMSPAN_DRIVER", "/nonexistent/libcuda.so.1", CUDA_ERROR_NOT_FOUND),
              testing::ExitedWithCode(0), "no CUDA driver: opening /nonexistent/libcuda.so.1");
}

TEST_F(ConfigDeathTest, NoDevice) {
  EXPECT_EXIT(CreateWith("SIMCUDA_DEVICES", "0", CUDA_ERROR_NO_DEVICE), testing::ExitedWithCode(0),
              "cuInit.*CUDA_ERROR_NO_DEVICE");
}

}  // namespace
}  // namespace vramspan_test
