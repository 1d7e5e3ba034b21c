// What a person is shown of a runtime, and where it goes.
#include "runtime/api/statistics_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace vramspan {
namespace {

using testing::HasSubstr;
using testing::Not;

vramspanStatistics Some() {
  vramspanStatistics s{};
  s.device_budget = uint64_t{1} << 30;
  s.peak_allocated_bytes = uint64_t{20} << 30;
  s.works = 12;
  s.works_held = 7;
  s.launches = 10;
  s.copies = 2;
  s.bytes_in = uint64_t{550} << 20;
  s.copy_in_ns = 10'000'000;
  s.fetches = 34;
  s.stall_vmm_ns = 2'500'000;
  return s;
}

std::string FileText(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(StatisticsTextTest, SaysWhatMovedAndWhatWasWaitedFor) {
  const std::string text = StatisticsText(Some());
  EXPECT_THAT(text, HasSubstr("20.0 GiB (device budget 1024.0 MiB)"));
  EXPECT_THAT(text, HasSubstr("12 pieces, 7 held"));
  EXPECT_THAT(text, HasSubstr("10 launches"));
  EXPECT_THAT(text, HasSubstr("550.0 MiB, 34 chunks, 57.7 GB/s"));
  EXPECT_THAT(text, HasSubstr("remaps 2.5 ms"));
  // What never happened is not worth a line.
  EXPECT_THAT(text, Not(HasSubstr("deadline")));
  EXPECT_THAT(text, Not(HasSubstr("forecast")));
}

TEST(StatisticsTextTest, MemoryThatPassedByHasItsLines) {
  const PassedMemory passed[] = {{"arrays", 3, 6 << 20}, {"managed", 0, 0}};
  const KernelTrust kernels[] = {{"gemm\"", Trust::kPlausible, "its name is known", 9, 4, 0xabc},
                                 {"mine", Trust::kUntried, "no trust file knows it", 2}};
  const std::string text = StatisticsText(Some(), {.passed = passed, .kernels = kernels});
  EXPECT_THAT(text, HasSubstr("of the driver: arrays      3 allocations, 6.0 MiB in all"));
  EXPECT_THAT(text, Not(HasSubstr("managed")));
  EXPECT_THAT(text, HasSubstr("untried kernel             2 launches of mine: no trust file"));
  EXPECT_THAT(text, Not(HasSubstr("gemm")));
}

// Code that is proven on condition is no evil where its launches fulfil that.
TEST(StatisticsTextTest, LaunchesThatFulfilAConditionAreNotUntried) {
  const KernelTrust kernels[] = {
      {.name = "all", .why = "on condition", .launches = 7, .proven = 7},
      {.name = "most", .why = "on condition", .launches = 6, .proven = 4},
      {.name = "none", .why = "on condition", .launches = 5}};
  const std::string text = StatisticsText(Some(), {.kernels = kernels});
  EXPECT_THAT(text, Not(HasSubstr(" of all")));
  EXPECT_THAT(text, HasSubstr("untried kernel             2 of 6 launches of most: on condition"));
  EXPECT_THAT(text, HasSubstr("untried kernel             5 launches of none: on condition"));
}

TEST(StatisticsTextTest, JsonIsOneLineWithEveryField) {
  const PassedMemory passed[] = {{"arrays", 3, 6 << 20}, {"managed", 0, 0}};
  const KernelTrust kernels[] = {{"gemm\"", Trust::kPlausible, "its name is known", 9, 4, 0xabc},
                                 {"mine", Trust::kUntried, "no trust file knows it", 2}};
  const std::string text = StatisticsJson(Some(), {.passed = passed, .kernels = kernels});
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_THAT(text, testing::StartsWith(R"({"schema":"vramspan.stats","schema_version":1,)"));
  EXPECT_THAT(text, HasSubstr(R"("works":12,"works_held":7,)"));
  EXPECT_THAT(text, HasSubstr(R"("stall_vmm_ns":2500000,)"));
  EXPECT_THAT(text, HasSubstr(R"({"what":"arrays","allocations":3,"bytes":6291456})"));
  // The struct is its size and fields of eight bytes.
  const auto names = static_cast<size_t>(std::count(text.begin(), text.end(), ':'));
  EXPECT_THAT(text, HasSubstr(R"({"name":"gemm\"","trust":"plausible",)"));
  EXPECT_THAT(text, HasSubstr(R"("launches":9,"proven":4,"module":"0000000000000abc"})"));
  // schema, version, process, passed, kernels; what passed; the kernels.
  constexpr size_t kOthers = 5 + 2 * 3 + 2 * 6;
  EXPECT_EQ(names - kOthers, sizeof(vramspanStatistics) / sizeof(uint64_t) - 1);

  const std::string path = testing::TempDir() + "/vramspan_stats.json";
  std::remove(path.c_str());
  ASSERT_EQ(setenv("VRAMSPAN_STATS", path.c_str(), 1), 0);
  EXPECT_TRUE(WriteStatistics(Some(), {.passed = passed, .kernels = kernels}).ok());
  EXPECT_EQ(FileText(path), text);
  ASSERT_EQ(unsetenv("VRAMSPAN_STATS"), 0);
}

TEST(StatisticsTextTest, GoesWhereTheVariableSays) {
  const std::string path = testing::TempDir() + "/vramspan_stats.txt";
  std::remove(path.c_str());
  ASSERT_EQ(setenv("VRAMSPAN_STATS", path.c_str(), 1), 0);
  EXPECT_TRUE(WriteStatistics(Some()).ok());
  EXPECT_TRUE(WriteStatistics(Some()).ok());
  EXPECT_EQ(FileText(path), StatisticsText(Some()) + StatisticsText(Some()));
  std::remove(path.c_str());

  ASSERT_EQ(setenv("VRAMSPAN_STATS", "-", 1), 0);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(WriteStatistics(Some()).ok());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), StatisticsText(Some()));

  // In a shared folder another's link would have the program append to what only it may write.
  const std::string link = testing::TempDir() + "/vramspan_stats_link.txt";
  std::remove(link.c_str());
  ASSERT_EQ(symlink(path.c_str(), link.c_str()), 0);
  for (const std::string& refused : {link, std::string("/dev/null")}) {
    ASSERT_EQ(setenv("VRAMSPAN_STATS", refused.c_str(), 1), 0);
    EXPECT_THAT(std::string(WriteStatistics(Some()).message()), HasSubstr(refused));
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0) << "the link was followed";
  std::remove(link.c_str());

  ASSERT_EQ(setenv("VRAMSPAN_STATS", "/nowhere/at/all", 1), 0);
  const Status status = WriteStatistics(Some());
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nowhere/at/all"));

  ASSERT_EQ(unsetenv("VRAMSPAN_STATS"), 0);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(WriteStatistics(Some()).ok());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(StatisticsTextTest, SaysThatItIsOffAndWhy) {
  const std::string path = testing::TempDir() + "/vramspan_stats_off.json";
  std::remove(path.c_str());
  ASSERT_EQ(setenv("VRAMSPAN_STATS", path.c_str(), 1), 0);
  EXPECT_TRUE(WriteStatisticsOff("on device 0", "'a\x1b\"\\' is no budget").ok());
  EXPECT_EQ(FileText(path), R"({"schema":"vramspan.stats","schema_version":1,"process":)" +
                                std::to_string(getpid()) +
                                R"(,"off":"'a�\"\\' is no budget","off_where":"on device 0"})"
                                "\n");
  std::remove(path.c_str());
  ASSERT_EQ(setenv("VRAMSPAN_STATS", "-", 1), 0);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(WriteStatisticsOff("on device 0", "no budget").ok());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "vramspan: process " + std::to_string(getpid()) + "\n  off on device 0: no budget\n");
  ASSERT_EQ(unsetenv("VRAMSPAN_STATS"), 0);
}

// The last a runtime does.
TEST(StatisticsTextTest, ARuntimeWritesItAtItsEnd) {
  const std::string path = testing::TempDir() + "/vramspan_stats_end.txt";
  std::remove(path.c_str());
  ASSERT_EQ(setenv("VRAMSPAN_STATS", path.c_str(), 1), 0);
  vramspanConfig config{};
  config.struct_size = sizeof(config);
  config.device_memory = "16MiB";
  config.host_memory = "64MiB";
  vramspanRuntime runtime = nullptr;
  ASSERT_EQ(vramspanCreate(&runtime, &config), CUDA_SUCCESS) << vramspanLastErrorMessage();
  CUdeviceptr p = 0;
  EXPECT_EQ(vramspanMemAlloc(runtime, &p, size_t{4} << 20), CUDA_SUCCESS);
  EXPECT_EQ(vramspanDestroy(runtime), CUDA_SUCCESS) << vramspanLastErrorMessage();
  ASSERT_EQ(unsetenv("VRAMSPAN_STATS"), 0);
  EXPECT_THAT(FileText(path), HasSubstr("4.0 MiB (device budget 16.0 MiB)"));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace vramspan
