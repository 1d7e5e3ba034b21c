// Traces that ask for more than any machine has, that are damaged, or whose names are meant for
// the terminal: what each command makes of them.
#include "tests/tools/hostile_trace.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/trace/sample.h"

namespace vramspan {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

trace::WorkEvent WorkOn(uint64_t id, std::vector<trace::TracedRange> ranges) {
  trace::WorkEvent work;
  work.time = 1000 * id;
  work.id = id;
  work.ranges = std::move(ranges);
  return work;
}

class HostileTraceTest : public ::testing::Test {
 protected:
  // What reads traces, and what it writes to a file goes to `output_`.
  std::vector<std::string> Commands() const {
    std::vector<std::string> commands;
    for (const char* command :
         {"trace info ", "trace info --format json ", "trace dump ", "trace dump --format json ",
          "trace stats ", "trace stats --format csv ", "trace stats --format json ",
          "trace curves --points 3 ", "trace curves --points 3 --format json "}) {
      commands.push_back(command + path_);
    }
    for (const char* format : {"table", "csv", "json"}) {
      commands.push_back(absl::StrCat("replay --policy lru --format ", format, " ", path_));
    }
    commands.push_back(absl::StrCat("trace export --perfetto ", output_, " ", path_));
    commands.push_back(absl::StrCat("tune --device-memory 50% -o ", output_, " ", path_));
    commands.push_back(absl::StrCat("report -o ", output_, " ", path_));
    return commands;
  }
  // A few pieces of work, as the writer writes them.
  void SaveUsual(const trace::Header& header, const std::string& name, const std::string& path) {
    auto writer = trace::Writer::Open({.path = path}, header);
    ASSERT_TRUE(writer.ok()) << writer.status();
    (*writer)->Add(trace::AllocateEvent{1000, kBase, MiB(64)});
    (*writer)->Add(trace::CodeEvent{1, 7, name});
    for (uint64_t i = 1; i <= 40; ++i) {
      trace::WorkEvent work = WorkOn(i, {{kBase + MiB(i % 4 * 16), MiB(16)}});
      work.code = 1;
      (*writer)->Add(work);
      (*writer)->Add(trace::TimesEvent{i, work.time, 500, Bytes(0)});
      ASSERT_TRUE((*writer)->Flush().ok());  // Each in a block of its own.
    }
    ASSERT_TRUE((*writer)->Close().ok());
  }

  static constexpr DevicePtr kBase{uint64_t{1} << 40};
  trace::TestFolder folder_;
  const std::string path_ = folder_.File("t.vramspan"), output_ = folder_.File("output");
};

TEST_F(HostileTraceTest, AFewBytesThatStandForVeryMuchAreRefused) {
  const auto allocations = [](uint64_t count, Bytes size) {
    std::vector<trace::Event> events;
    for (uint64_t i = 0; i < count; ++i) {
      events.emplace_back(trace::AllocateEvent{i, kBase + size * i, size});
    }
    return events;
  };
  std::vector<uint8_t> frees;
  for (int i = 0; i < 1 << 20; ++i) frees.insert(frees.end(), {2, 2, 0, 0});
  std::vector<uint8_t> nothing(trace::kMostBlock - 5, 0);  // An event of no known type.
  nothing.insert(nothing.begin(), {200, 0xfb, 0xff, 0xff, 1});
  // One piece of work, of which more and more is told.
  std::vector<trace::Event> ranges(31, WorkOn(1, std::vector<trace::TracedRange>(1 << 16)));
  std::vector<trace::Event> spans = allocations(60'000, Bytes(1));
  spans.emplace_back(WorkOn(100, std::vector<trace::TracedRange>(5000, {kBase, Bytes(1 << 20)})));
  std::vector<trace::Event> sets = allocations(1, GiB(8 << 10));
  for (uint64_t i = 1; i < 6; ++i) {
    sets.emplace_back(WorkOn(i, {{kBase, GiB(8 << 10), static_cast<uint16_t>(i)}}));
  }
  std::vector<trace::Event> accesses = allocations(1, GiB(1 << 10));
  for (uint64_t i = 1; i < 300; ++i) accesses.emplace_back(WorkOn(i, {{kBase, GiB(1 << 10)}}));
  std::vector<trace::Event> times = allocations(1, MiB(4));
  for (uint64_t i = 1; i < 4; ++i) {
    times.emplace_back(WorkOn(i, {{kBase, MiB(4)}}));
    times.emplace_back(trace::TimesEvent{i, 0, uint64_t{1} << 59, Bytes(0)});
  }
  const struct {
    HostileTrace trace;
    const char* says;
    bool by_info;  // Which does not look at what is replayed.
  } cases[] = {
      {HostileTrace().Raw(frees, 1 << 20, 5), "at byte [0-9]+: more than [0-9]+ events", true},
      {HostileTrace().Raw(nothing, 1, 70), "at byte [0-9]+: the file unpacks to more than", true},
      {HostileTrace().Events(ranges, 3), "at byte [0-9]+: more than [0-9]+ ranges", true},
      {HostileTrace().Events(spans), "at byte [0-9]+: more than [0-9]+ ranges", true},
      {HostileTrace().Events(allocations(100, GiB(8 << 10))),
       "at byte [0-9]+: more than [0-9]+ granules of 2 MiB allocated", true},
      {HostileTrace().Events(sets), "more than [0-9]+ granules of 2 MiB named", false},
      {HostileTrace().Events(accesses), "more than [0-9]+ accesses", false},
      {HostileTrace().Events(times), "times of more than 36 years", false},
  };
  for (const auto& c : cases) {
    c.trace.Save(path_);
    EXPECT_LT(std::filesystem::file_size(path_), 1u << 17);
    const Output output = RunBounded((c.by_info ? "trace info " : "replay ") + path_);
    EXPECT_EQ(output.code, 1) << c.says;
    EXPECT_THAT(output.err, AllOf(HasSubstr(path_), ContainsRegex(c.says)));
    EXPECT_LE(RunBounded("trace dump --limit 9 " + path_).code, 1) << c.says;
  }
}

// Six bytes say "65,536 ranges, as before": that is told again and again, and costs nobody
// anything.
TEST_F(HostileTraceTest, WhatIsAsBeforeIsNotDoneAgain) {
  trace::Encoder encoder;
  encoder.Start(0);
  for (uint64_t id = 1; id < 32; ++id) {
    encoder.Add(WorkOn(id, std::vector<trace::TracedRange>(1 << 16)));
  }
  const uint32_t count = encoder.events();
  const trace::BlockBytes taken = encoder.Take();
  const std::vector<uint8_t> raw(taken.data(), taken.data() + taken.size());
  HostileTrace trace;
  trace.Raw(raw, count, 120).Save(path_);
  const Output info = RunBriefly("trace info " + path_);
  EXPECT_EQ(info.code, 1) << "it has no end";
  EXPECT_THAT(info.out, HasSubstr("31 pieces"));
  // Told, and not as before, they count.
  trace.Raw(raw, count, 480).Save(path_);
  for (const char* command : {"trace info ", "trace stats ", "replay "}) {
    const Output output = RunBriefly(command + path_);
    EXPECT_EQ(output.code, 1) << command;
    EXPECT_THAT(output.err, ContainsRegex("at byte [0-9]+: more than [0-9]+ ranges told of work"));
  }
}

// What is looked for where no memory is, after each allocation again.
TEST_F(HostileTraceTest, WhatIsLookedForInVainCounts) {
  std::vector<trace::Event> events;
  for (uint64_t i = 1; i < 70; ++i) {
    for (uint64_t more = 0; more < 100; ++more) {
      const uint64_t n = 100 * i + more;
      events.emplace_back(trace::AllocateEvent{n, kBase + KiB(n), Bytes(1)});
      events.emplace_back(WorkOn(n, std::vector<trace::TracedRange>(1 << 13)));
      std::get<trace::WorkEvent>(events.back()).time = n;
    }
  }
  HostileTrace trace;
  for (size_t first = 0; first < events.size(); first += 400) {
    trace.Events({events.begin() + static_cast<ptrdiff_t>(first),
                  events.begin() + static_cast<ptrdiff_t>(std::min(events.size(), first + 400))});
  }
  trace.Save(path_);
  const Output output = RunBriefly("trace info " + path_);
  EXPECT_EQ(output.code, 1);
  EXPECT_THAT(output.err, ContainsRegex("more than [0-9]+ pieces of allocations named"));
}

TEST_F(HostileTraceTest, WhatOverlapsIsNotLookedForOneByOne) {
  std::vector<trace::Event> events = {trace::AllocateEvent{0, kBase, MiB(4)}};
  for (uint64_t i = 1; i <= 100'000; ++i) {
    events.emplace_back(WorkOn(i, {{kBase, MiB(4)}}));
    events.emplace_back(trace::TimesEvent{i, i, uint64_t{1} << 40, Bytes(0)});
  }
  HostileTrace().Events(events).Save(path_);
  const Output output = RunBounded(absl::StrCat("trace export --perfetto ", output_, " ", path_));
  EXPECT_THAT(output.err, HasSubstr("no end"));
  EXPECT_GT(std::filesystem::file_size(output_), 100'000u * 20);
}

TEST_F(HostileTraceTest, DamageIsOneOnStderrAndTheRestIsUsed) {
  SaveUsual(trace::SampleHeader(), "kernel", path_);
  std::string bytes = ReadText(path_);
  size_t block = trace::FindBlock(bytes, 0);
  for (int i = 0; i < 5; ++i) block = trace::FindBlock(bytes, block + 1);
  bytes[block + trace::kBlockFrontBytes + 12] ^= 0x55;
  std::ofstream(path_, std::ios::binary) << bytes;
  for (const std::string& command : Commands()) {
    std::filesystem::remove(output_);
    const Output output = RunBounded(command);
    EXPECT_EQ(output.code, 1) << command;
    EXPECT_THAT(output.err,
                AllOf(HasSubstr(absl::StrCat(path_, ": at byte ", block, ": block 5")),
                      HasSubstr(path_ + " is damaged or incomplete; what could be read")))
        << command;
    EXPECT_THAT(output.out, AllOf(Not(HasSubstr("problem ")), Not(HasSubstr("problem:"))));
    const bool writes = command.find(output_) != std::string::npos;
    EXPECT_EQ(writes, std::filesystem::exists(output_)) << command;
    if (command.find("export") == std::string::npos && command.find("report") != 0) {
      EXPECT_THAT(output.out, Not(IsEmpty())) << command;
    }
    if (command.find("json") != std::string::npos && command.find("dump") == std::string::npos) {
      EXPECT_FALSE(nlohmann::json::parse(output.out, nullptr, false).is_discarded()) << command;
    }
  }
  EXPECT_THAT(ReadText(output_), HasSubstr("block 5")) << "the report shows it";
}

TEST_F(HostileTraceTest, WhatWasLostAndWhatIsMissingIsTold) {
  HostileTrace lost;
  lost.Events({trace::AllocateEvent{0, kBase, MiB(4)}, WorkOn(1, {{kBase, MiB(4)}}),
               trace::LostEvent{1234}, trace::EndEvent{9}});
  lost.Save(path_);
  for (const std::string& command : Commands()) {
    std::filesystem::remove(output_);
    const Output output = RunBounded(command);
    EXPECT_EQ(output.code, 1) << command;
    EXPECT_THAT(output.err, HasSubstr(path_ + ": 1234 events were lost")) << command;
  }
  // Blocks that are not there leave no other trace than the numbers of those that are.
  SaveUsual(trace::SampleHeader(), "kernel", folder_.File("whole"));
  const std::string bytes = ReadText(folder_.File("whole"));
  size_t from = trace::FindBlock(bytes, 0);
  for (int i = 0; i < 3; ++i) from = trace::FindBlock(bytes, from + 1);
  const size_t to = trace::FindBlock(bytes, trace::FindBlock(bytes, from + 1) + 1);
  std::ofstream(path_, std::ios::binary) << bytes.substr(0, from) + bytes.substr(to);
  const Output info = RunBounded("trace info " + path_);
  EXPECT_EQ(info.code, 1);
  EXPECT_THAT(info.err, HasSubstr(absl::StrCat("at byte ", from,
                                               ": the blocks from 3 to 4, which should come first, "
                                               "are missing\n")));
  // Nor do events.
  HostileTrace fewer;
  fewer.Raw({2, 2, 0, 0, 9, 1, 0}, 7).Save(path_);
  EXPECT_THAT(RunBounded("trace info " + path_).err,
              HasSubstr("block 0: it holds 2 events, not the 7 that it claims"));
}

TEST_F(HostileTraceTest, NamesDoNothingToTheTerminal) {
  const std::string evil =
      "\x1b]0;title\x07\x1b[2J\rfor\nged \xc2\x9b"
      "31m\x7f \xff\xe2\x80\xae end";
  trace::Header header = trace::SampleHeader();
  header.program = header.device = header.device_uuid = header.source = header.times = evil;
  SaveUsual(header, evil, path_);
  trace::Header plain = trace::SampleHeader();
  plain.program = "plain";
  const std::string other = folder_.File("u.vramspan");
  SaveUsual(plain, "plain", other);
  const auto lines = [](const Output& output) {
    return std::count(output.out.begin(), output.out.end(), '\n');
  };
  for (const std::string& command : Commands()) {
    std::filesystem::remove(output_);
    const Output output = RunBounded(command);
    EXPECT_EQ(output.code, 0) << command << output.err;
    EXPECT_FALSE(HasControls(output.out)) << command << output.out;
    EXPECT_FALSE(HasControls(output.err)) << command << output.err;
    std::filesystem::remove(output_);
    std::string usual = command;
    usual.replace(usual.find(path_), path_.size(), other);
    EXPECT_EQ(lines(output), lines(RunBounded(usual))) << command;
  }
  EXPECT_THAT(RunBounded("trace info " + path_).out, HasSubstr("title"));
  // In messages, too.
  header.overlap = evil;
  SaveUsual(header, evil, folder_.File("v"));
  const Output refused = RunBounded("replay " + folder_.File("v"));
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, AllOf(StartsWith("vramspan replay: --overlap: "), HasSubstr("title")));
  EXPECT_FALSE(HasControls(refused.err)) << refused.err;
  const std::string profile = folder_.File("p");
  std::ofstream(profile) << "vramspan-profile 2\nprogram=\\033[2J\\rx\ndevice=\ndevice_uuid=\n"
                            "device_memory=0\npolicy=lru\nchunk=auto\noverlap=off\n"
                            "predicted_ms=1\ndefault_ms=1\nresident_ms=1\n";
  const Output stale = RunBounded("run --profile " + profile + " -- true");
  EXPECT_EQ(stale.code, 1);
  EXPECT_THAT(stale.err, HasSubstr("not for 'true'"));
  EXPECT_FALSE(HasControls(stale.err)) << stale.err;
}

TEST_F(HostileTraceTest, AHeadersNumbersAreWithinReason) {
  for (const int log2 : {-1, 64, 1000}) {
    trace::Header header;
    header.chunk_log2 = log2;
    HostileTrace(header).Save(path_);
    const Output info = RunBounded("trace info " + path_);
    EXPECT_EQ(info.code, 1);
    EXPECT_THAT(info.err, HasSubstr("its header has a wrong value for chunk_log2"));
  }
}

}  // namespace
}  // namespace vramspan
