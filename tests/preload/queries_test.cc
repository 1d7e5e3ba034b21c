// What programs are told about their memory.
#include <gmock/gmock.h>

#include "tests/preload/run_program.h"

namespace vramspan_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Output Ok(const Output& output) {
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("ok\n")) << output.err;
  return output;
}

// With chunks on the device, and with all of them on the host.
TEST(Queries, PointersAreThoseOfPlainDeviceMemory) {
  const Output without = Ok(RunPlain("dlsym", "queries"));
  EXPECT_THAT(without.out, HasSubstr("257 range: 0 0 257; 0 0 0\n"));
  EXPECT_THAT(without.out, HasSubstr("6291457 last attribute 2: 0 2"));
  EXPECT_THAT(without.out, HasSubstr("257 attribute 18: 0 2097152\n257 attribute 19: 0 the block"));
  EXPECT_THAT(without.out, HasSubstr("6291457 attribute 18: 0 8388608\n"));
  EXPECT_EQ(Ok(RunPreloaded("dlsym", "queries")).out, without.out);
  const Output on_host = Ok(RunPreloaded("dlsym", "queries", "VRAMSPAN_DEVICE_MEMORY=2MiB"));
  EXPECT_EQ(on_host.out, without.out);
  EXPECT_THAT(on_host.err, HasSubstr("device memory is short"));
}

TEST(Queries, CopiesAndFillsWaitWhereTheirMemoryAsksForIt) {
  Ok(RunPreloaded("dlsym", "sync_memops"));
  Ok(RunPreloaded("dlsym_pt", "sync_memops_pt"));
  Ok(RunPreloaded("dlsym", "sync_memops", "VRAMSPAN_TRACER=cupti"));
}

TEST(Queries, FreeMemoryFallsByWhatIsAllocated) {
  const Output without = Ok(RunPlain("dlsym", "capacity"));
  EXPECT_THAT(without.out, HasSubstr("total: 50331648 1\n"));
  EXPECT_THAT(without.out, HasSubstr("all back: 1\n"));
  EXPECT_EQ(Ok(RunPreloaded("dlsym", "capacity")).out, without.out);
  const Output half = Ok(RunPreloaded("dlsym", "capacity", "VRAMSPAN_DEVICE_MEMORY=4MiB"));
  EXPECT_EQ(half.out, without.out) << "the budget is not to be seen";
}

TEST(Queries, WhatIsFreeCanBeHad) {
  const Output device = Ok(RunPreloaded("dlsym", "take_free", "VRAMSPAN_DEVICE_MEMORY=25%"));
  EXPECT_THAT(device.out, HasSubstr("total 48 MiB\ntook 30 MiB\n"));
  EXPECT_THAT(device.err, HasSubstr("device memory is short"));
  const Output budget =
      Ok(RunPreloaded("dlsym", "take_free", "VRAMSPAN_REPORT=budget VRAMSPAN_DEVICE_MEMORY=25%"));
  EXPECT_THAT(budget.out, HasSubstr("total 12 MiB\ntook 12 MiB"));
  EXPECT_THAT(budget.err, Not(HasSubstr("device memory is short")));
  const Output total = Ok(
      RunPreloaded("dlsym", "take_free",
                   "VRAMSPAN_REPORT=total VRAMSPAN_DEVICE_MEMORY=25% VRAMSPAN_HOST_MEMORY=64MiB"));
  EXPECT_THAT(total.out, HasSubstr("total 76 MiB\ntook 76 MiB"));
}

TEST(Queries, AReportThatIsNoneIsSaidOnce) {
  const Output output = Ok(RunPreloaded("dlsym", "take_free", "VRAMSPAN_REPORT=all"));
  EXPECT_THAT(output.out, HasSubstr("total 48 MiB"));
  const size_t first = output.err.find("use device, budget or total");
  ASSERT_NE(first, std::string::npos) << output.err;
  EXPECT_EQ(output.err.find("VRAMSPAN_REPORT", first), std::string::npos);
}

// A program that asks for no memory has a mistake in the variable all the same.
TEST(Queries, AReportThatIsNoneIsSaidThoughNobodyAsks) {
  const Output output =
      Ok(RunPreloaded("dlsym", "within", "VRAMSPAN_REPORT=\"$(printf 'x\\033[2J')\""));
  EXPECT_THAT(output.err, HasSubstr("VRAMSPAN_REPORT: 'x\ufffd[2J' is not a way to report memory"));
}

TEST(Queries, NvmlAgreesWithTheDriver) {
  const std::string nvml = "LD_LIBRARY_PATH='" SIMCUDA_FOLDER ":" FAKE_NVML_FOLDER "' ";
  const Output without = Ok(RunPlain("dlsym", "nvml", nvml));
  EXPECT_THAT(without.out, HasSubstr("with 16 MiB: 0 of 48 MiB used, 0 by v2\n"));
  // NVML knows nothing of this driver's memory, so that what it says changes by ours alone.
  const Output with = Ok(RunPreloaded("dlsym", "nvml", nvml + "FAKE_NVML_USED_MIB=18 "));
  EXPECT_THAT(with.out, HasSubstr("before: 18 of 48 MiB used, 18 by v2\n"
                                  "before: 18 of 48 MiB used, 18 by v2\n"));
  EXPECT_THAT(with.out, HasSubstr("with 16 MiB: 18 of 48 MiB used, 18 by v2\n"
                                  "with 16 MiB: 18 of 48 MiB used, 18 by v2\n"));
  // Chunks are kept for the next allocation; to the program they are free.
  EXPECT_THAT(with.out, HasSubstr("freed: 2 of 48 MiB used, 2 by v2\n"
                                  "freed: 18 of 48 MiB used, 18 by v2\n"));
  const Output small = Ok(
      RunPreloaded("dlsym", "nvml", nvml + "VRAMSPAN_REPORT=budget VRAMSPAN_DEVICE_MEMORY=20MiB"));
  EXPECT_THAT(small.out, HasSubstr("with 16 MiB: 16 of 20 MiB used, 15 by v2\n"));
}

TEST(PreloadEdges, AllocateInCapturesAsTheDriverDoes) {
  const Output without = RunPlain("proc2", "captures");
  const Output with = RunPreloaded("proc2", "captures");
  EXPECT_EQ(without.code, 0) << without.err;
  EXPECT_THAT(without.out, HasSubstr("allocate in mode 0: 900, written 1 0, end 901\n"));
  EXPECT_THAT(without.out, HasSubstr("free in mode 1: 900, written 0 0, end 901\n"));
  EXPECT_THAT(without.out, HasSubstr("allocate rows in mode 2: 0, written 1 1, end 0\n"));
  EXPECT_EQ(with.out, without.out) << with.err;
}

TEST(PreloadEdges, ALittleMemoryIsLeft) {
  const Output with = RunPreloaded("proc2", "little_is_left",
                                   "VRAMSPAN_DEVICE_MEMORY=16MiB VRAMSPAN_HOST_MEMORY=8MiB");
  EXPECT_EQ(with.code, 0) << with.err;
  EXPECT_EQ(with.out, "full: 2\nok\n") << with.err;
}

TEST(PreloadEdges, StaticObjectsFreeAsWithoutIt) {
  const Output without = RunPlain("proc2", "statics");
  EXPECT_EQ(without.code, 0) << without.err;
  EXPECT_EQ(without.out, "ok\nmade behind it: 0\nmade before the driver: 4\n");
  const Output with = RunPreloaded("proc2", "statics");
  EXPECT_EQ(with.code, 0) << with.err;
  EXPECT_EQ(with.out, without.out) << with.err;
}

}  // namespace
}  // namespace vramspan_test
