// `vramspan trace` as a user runs it.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/tools/run_binary.h"
#include "tests/trace/sample.h"

namespace vramspan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TraceTool : public ::testing::Test {
 protected:
  TraceTool() {
    auto writer = trace::Writer::Open({.path = path_}, trace::SampleHeader());
    EXPECT_TRUE(writer.ok());
    (*writer)->Add(trace::AllocateEvent{1000, DevicePtr(1 << 30), MiB(8)});
    (*writer)->Add(trace::CodeEvent{1, 7, "_Z4gemmPf"});
    for (uint64_t i = 0; i < 10; ++i) {
      trace::WorkEvent work;
      work.time = 2000 + i * 100000;
      work.id = i;
      work.code = 1;
      work.ranges = {{DevicePtr(1 << 30), MiB(4)}};
      (*writer)->Add(work);
      (*writer)->Add(trace::TimesEvent{i, work.time, 50000, i == 3 ? MiB(2) : Bytes(0)});
    }
    (*writer)->Add(trace::MoveEvent{5000, 100, DevicePtr(1 << 30), MiB(2), true, false});
    EXPECT_TRUE((*writer)->Close().ok());
  }
  Output Trace(const std::string& arguments) { return RunBinary("", "trace " + arguments); }

  trace::TestFolder folder_;
  const std::string path_ = folder_.File("t.vramspan");
};

TEST_F(TraceTool, InfoSaysWhoAndHowMuch) {
  const Output table = Trace("info " + path_);
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("python3 train.py"));
  EXPECT_THAT(table.out, HasSubstr("10 pieces, 10 measured, of 1 kinds"));
  const auto json = nlohmann::json::parse(Trace("info --format json " + path_).out);
  EXPECT_EQ(json["works"], 10);
  EXPECT_EQ(json["peak_bytes"], 8 << 20);
  EXPECT_EQ(json["bytes_in"], 2 << 20);
  EXPECT_EQ(json["device_time_ns"], 500000);
  EXPECT_EQ(json["complete"], true);
  EXPECT_EQ(json["rounds"], 0) << "ten are too few";
}

TEST_F(TraceTool, InfoSaysWhatComesAgain) {
  const std::string path = folder_.File("rounds.vramspan");
  {
    auto writer = trace::Writer::Open({.path = path}, trace::SampleHeader());
    ASSERT_TRUE(writer.ok()) << writer.status();
    (*writer)->Add(trace::AllocateEvent{1000, DevicePtr(1 << 30), MiB(64)});
    for (uint32_t code = 0; code < 6; ++code) (*writer)->Add(trace::CodeEvent{code, code, "k"});
    for (uint64_t i = 0; i < 120; ++i) {
      trace::WorkEvent work;
      work.time = 2000 + i * 100000;
      work.id = i;
      work.code = static_cast<uint32_t>(i % 6);
      work.ranges = {{DevicePtr((1 << 30) + (i % 6 << 20)), MiB(1)}};
      (*writer)->Add(work);
      (*writer)->Add(trace::TimesEvent{i, work.time, 50000, Bytes(0)});
    }
    (*writer)->Add(trace::WaitEvent{9000, 1500});
    (*writer)->Add(trace::WaitEvent{9500, 500, trace::WaitEvent::For::kStream, 2});
    (*writer)->Add(trace::DiscardEvent{9600, DevicePtr(1 << 30), MiB(2)});
    (*writer)->Add(trace::OwnEvent{9700, DevicePtr(1 << 30), MiB(1)});
    (*writer)->Add(trace::AlikeEvent{3, 1});
    EXPECT_TRUE((*writer)->Close().ok());
  }
  EXPECT_THAT(Trace("info " + path).out,
              AllOf(HasSubstr(" of 6 pieces of work, 600.0 us each\n"),
                    HasSubstr("waited for its device 2 times, 2.0 us in all\n")));
  const auto json = nlohmann::json::parse(Trace("info --format json " + path).out);
  EXPECT_GE(json["rounds"], 18);
  EXPECT_EQ(json["round_works"], 6);
  EXPECT_EQ(json["round_ns"], 600000);
  EXPECT_EQ(json["waits"], 2);
  EXPECT_EQ(json["waited_ns"], 2000);
  EXPECT_THAT(Trace("dump " + path).out,
              AllOf(HasSubstr("wait  time 9500  duration 500  for stream  stream 2  thread 0\n"),
                    HasSubstr("discard  time 9600  base 0x40000000  size 2097152  unowned false  "
                              "thread 0\n"),
                    HasSubstr("own  time 9700  base 0x40000000  size 1048576  thread 0\n"),
                    HasSubstr("alike  code 3  first 1  thread 0\n")));
}

TEST_F(TraceTool, StatsSayWhatKernelsTook) {
  const Output table = Trace("stats " + path_);
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("gemm"));
  const auto json = nlohmann::json::parse(Trace("stats --format json " + path_).out);
  ASSERT_EQ(json["kernels"].size(), 1u);
  EXPECT_EQ(json["kernels"][0]["time_ns"], 500000);
  EXPECT_EQ(json["kernels"][0]["median_ns"], 50000);
  EXPECT_EQ(json["kernels"][0]["touched_bytes"], 40 << 20);
  EXPECT_EQ(json["kernels"][0]["remote_bytes"], 2 << 20);
  EXPECT_THAT(Trace("stats --format csv " + path_).out,
              HasSubstr("\"_Z4gemmPf\",10,10,500000,50000,41943040,2097152\n"));
}

TEST_F(TraceTool, DumpHasALineForEachEvent) {
  const Output text = Trace("dump " + path_);
  EXPECT_THAT(text.out, HasSubstr("allocate  time 1000  base 0x40000000  size 8388608"));
  std::istringstream lines(Trace("dump --format json " + path_).out);
  std::string line;
  int works = 0, all = 0;
  while (std::getline(lines, line)) {
    works += nlohmann::json::parse(line)["event"] == "work" ? 1 : 0;
    ++all;
  }
  EXPECT_EQ(works, 10);
  EXPECT_EQ(all, 24);
}

TEST_F(TraceTool, WhatIsDamagedIsSaidAndTheRestUsed) {
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 3);
  const Output info = Trace("info " + path_);
  EXPECT_EQ(info.code, 1);
  EXPECT_THAT(info.out, AllOf(HasSubstr("python3 train.py"), Not(HasSubstr("at byte "))));
  EXPECT_THAT(info.err, HasSubstr(path_ + ": at byte "));
  EXPECT_THAT(Trace("dump " + path_).err, HasSubstr("at byte "));
}

TEST_F(TraceTool, MistakesAreNamed) {
  EXPECT_EQ(Trace("").code, 2);
  EXPECT_EQ(Trace("info").code, 2);
  EXPECT_EQ(Trace("stats --format xml " + path_).code, 2);
  const Output missing = Trace("info /no/such/file");
  EXPECT_EQ(missing.code, 1);
  EXPECT_EQ(missing.err,
            "vramspan trace info: cannot read /no/such/file: No such file or directory\n");
  for (const char* action : {"info /dev/null", "stats /dev/zero"}) {
    const Output device = Trace(action);
    EXPECT_EQ(device.code, 1) << action;
    EXPECT_THAT(device.err, HasSubstr("it is a pipe or a device")) << action;
  }
  const std::string other = folder_.File("other");
  std::ofstream(other) << "no trace at all, but long enough to be one";
  const Output none = Trace("stats " + other);
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("is not a vramspan trace"));
}

}  // namespace
}  // namespace vramspan
