// Rates from two records, and how they are shown.
#include "tools/vramspan/top_rows.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/tools/live_records.h"
#include "tools/vramspan/top_json.h"
#include "tools/vramspan/top_table.h"

namespace vramspan {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kMiB = uint64_t{1} << 20;

top::Seen SeenOf(const LiveRecord& record) {
  return {.record = record,
          .program = "trainer",
          .command = "trainer -x",
          .uuid = "GPU-1",
          .device = "NVIDIA Test"};
}

class TopRows : public ::testing::Test {
 protected:
  TopRows() {
    first_.pid = 17;
    first_.written = first_.began = 100 * kSecond;
    first_.move_mb_per_s = 10000;
    first_.flags = LiveRecord::kPricesMeasured;
    first_.device_used = 64 * kMiB;
    first_.charged_bytes = 96 * kMiB;
    first_.host_used = 48 * kMiB;
    second_ = first_;
  }
  top::Row Next(const LiveRecord& record, uint64_t now) {
    std::vector<top::Row> rows = samples_.Next({SeenOf(record)}, now);
    EXPECT_THAT(rows, SizeIs(1));
    return rows.front();
  }

  LiveRecord first_, second_;
  top::Samples samples_;
};

TEST_F(TopRows, RatesAreOverTheTimeBetweenRecords) {
  Next(first_, 100 * kSecond);
  second_.written += 2 * kSecond;
  second_.bytes_in = 8'000'000'000;
  second_.bytes_out = 1'000'000'000;
  second_.stall_copy_ns = kSecond * 3 / 4;
  second_.stall_vmm_ns = kSecond / 4;
  second_.stall_drain_ns = kSecond;  // Work that runs is no loss.
  second_.launches_proven = 3;
  second_.launches_untried = 1;
  const top::Row row = Next(second_, 102 * kSecond);
  EXPECT_DOUBLE_EQ(row.rates.in, 4e9);
  EXPECT_DOUBLE_EQ(row.rates.out, 5e8);
  EXPECT_DOUBLE_EQ(row.link(), 0.4);
  EXPECT_DOUBLE_EQ(row.rates.link_out, 0.05);
  EXPECT_DOUBLE_EQ(row.rates.waiting, 0.5);
  EXPECT_DOUBLE_EQ(row.slowdown(), 2);
  EXPECT_EQ(row.rates.trusted, 0.75);
  EXPECT_EQ(row.resident, 64 * kMiB);
  EXPECT_EQ(row.on_host, 32 * kMiB) << "a copy of what is on the device does not count";
  const std::string line = top::RowLine(row);
  EXPECT_EQ(line,
            "      17   0     64M     32M      0M    4.0G    500M     40    50  2.00x   75%    "
            "0:02 trainer -x");
}

TEST_F(TopRows, WhatIsUsedInPlaceTakesItsPartOfTheLinkAndOfTheTime) {
  first_.serve_mb_per_s = 20000;
  second_.serve_mb_per_s = 20000;
  Next(first_, 100 * kSecond);
  second_.written += kSecond;
  second_.bytes_in = 1'000'000'000;
  second_.bytes_in_place = 5'000'000'000;
  second_.stall_copy_ns = kSecond / 4;
  const top::Row row = Next(second_, 101 * kSecond);
  EXPECT_DOUBLE_EQ(row.rates.link_in_place, 0.25);
  EXPECT_DOUBLE_EQ(row.link(), 0.35);
  EXPECT_DOUBLE_EQ(row.rates.waiting, 0.25);
  EXPECT_DOUBLE_EQ(row.slowdown(), 2) << "a half of the time";
}

TEST_F(TopRows, WhatWasFreedIsNoData) {
  first_.charged_bytes = 0;
  const top::Row row = Next(first_, 100 * kSecond);
  EXPECT_EQ(row.resident, 0u);
  EXPECT_EQ(row.on_host, 0u);
}

TEST_F(TopRows, WhatBeginsAfterAPauseIsNotThinnedByIt) {
  Next(first_, 100 * kSecond);
  Next(first_, 200 * kSecond);
  second_.written = 201 * kSecond;
  second_.bytes_in = 3'000'000'000;
  EXPECT_DOUBLE_EQ(Next(second_, 201 * kSecond).rates.in, 2e9) << "over 1.5 s";
}

TEST_F(TopRows, WhatIsSilentForLongHasStopped) {
  Next(first_, 100 * kSecond);
  second_.written += kSecond;
  second_.bytes_in = 1'000'000'000;
  EXPECT_DOUBLE_EQ(Next(second_, 101 * kSecond).rates.in, 1e9);
  EXPECT_DOUBLE_EQ(Next(second_, 101 * kSecond + kSecond / 2).rates.in, 1e9) << "not written anew";
  EXPECT_DOUBLE_EQ(Next(second_, 103 * kSecond).rates.in, 0);
}

TEST_F(TopRows, CountersThatGoBackAreNothing) {
  first_.bytes_in = 5;
  first_.stall_copy_ns = 5;
  Next(first_, 100 * kSecond);
  second_.written += kSecond;
  const top::Row row = Next(second_, 101 * kSecond);
  EXPECT_EQ(row.rates.in, 0);
  EXPECT_EQ(row.rates.waiting, 0);
}

TEST_F(TopRows, AWaitForAllOfTheTimeIsASlowdownThatEnds) {
  Next(first_, 100 * kSecond);
  second_.written += kSecond;
  second_.stall_copy_ns = 9 * kSecond;
  const top::Row row = Next(second_, 101 * kSecond);
  EXPECT_DOUBLE_EQ(row.rates.waiting, 1);
  EXPECT_DOUBLE_EQ(row.slowdown(), 99);
}

TEST_F(TopRows, ALinkThatWasNotMeasuredIsMarked) {
  first_.flags = 0;
  EXPECT_THAT(top::RowLine(Next(first_, 100 * kSecond)), HasSubstr("     ~0 "));
}

TEST_F(TopRows, DecisionsAreSaidWithTheirReasonsTheLatestFirst) {
  first_.decisions[0] = {98 * kSecond, 99 * kSecond, 64 * kMiB, 16,
                         static_cast<uint32_t>(MoveCause::kNeeded)};
  first_.decisions[1] = {99 * kSecond, 99 * kSecond + 1, 0, 3,
                         static_cast<uint32_t>(LiveWhat::kDeadline)};
  first_.decisions[2] = {90 * kSecond, 91 * kSecond, 0, 1, 12345};
  first_.decisions[3] = {91 * kSecond, 90 * kSecond, 0, 1, 0};  // Ends before it began.
  const top::Row row = Next(first_, 100 * kSecond);
  const std::vector<std::string> lines = top::DecisionLines(row, 100 * kSecond);
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[0], AllOf(HasSubstr("let go"), HasSubstr("3x"), HasSubstr("too long")));
  EXPECT_THAT(lines[1], AllOf(HasSubstr("fetched"), HasSubstr("64.0 MiB"), HasSubstr("16x"),
                              HasSubstr("launches that wait need it")));
  EXPECT_THAT(lines[2], HasSubstr("it is not known here"));
}

TEST_F(TopRows, EachDecisionHasATextOfItsOwn) {
  std::set<std::string> texts;
  for (uint32_t i = 0; i < kLiveWhats; ++i) texts.insert(top::TextOf(i).cause);
  EXPECT_THAT(texts, SizeIs(kLiveWhats));
}

TEST_F(TopRows, JsonHasAllOfIt) {
  Next(first_, 100 * kSecond);
  second_.written += kSecond;
  second_.bytes_in = 1'000'000'000;
  second_.decisions[0] = {kSecond, kSecond, 1, 1, 0};
  const std::string text = top::Json({Next(second_, 101 * kSecond)}, {"a note"}, 101 * kSecond,
                                     /*lines=*/false);
  EXPECT_EQ(text.find('\n'), text.size() - 1) << "a line";
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["schema"], "vramspan.top");
  EXPECT_EQ(json["notes"][0], "a note");
  const auto& process = json["processes"][0];
  EXPECT_EQ(process["pid"], 17);
  EXPECT_EQ(process["command"], "trainer -x");
  EXPECT_EQ(process["counters"]["bytes_in"], 1'000'000'000);
  EXPECT_EQ(process["decisions"][0]["cause"], "needed");
  EXPECT_EQ(process["trusted"], nullptr);
  EXPECT_THAT(process["link_in"].get<double>(), DoubleNear(0.1, 1e-9));
}

TEST_F(TopRows, SortingPutsTheLargestFirst) {
  std::vector<top::Row> rows(3);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].seen.record.pid = static_cast<uint32_t>(i + 1);
    rows[i].resident = i == 1 ? 9 : i;
  }
  top::Sort(top::Column::kResident, &rows);
  EXPECT_EQ(rows[0].seen.record.pid, 2u);
  top::Sort(top::Column::kPid, &rows);
  EXPECT_EQ(rows[0].seen.record.pid, 1u);
}

TEST_F(TopRows, LinesAreClippedBetweenCharacters) {
  EXPECT_EQ(top::Clip("gr\xc3\xb6\xc3\x9f", 3), "gr\xc3\xb6");
  EXPECT_EQ(top::Clip("abc", 3), "abc");
  EXPECT_EQ(top::Clip("abc", 0), "");
}

class TopCommand : public LiveRecords {};

TEST_F(TopCommand, OnceIsATableOfWhatIsThere) {
  LiveRecord r = Own();
  r.device_used = r.charged_bytes = 64 * kMiB;
  r.device_budget = 128 * kMiB;
  Write(r);
  const Output shown = Top(pid() + " --once --interval 0.5");
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("GPU 0 NVIDIA Test: 64.0 MiB of 8192.0 MiB hold data"),
                               HasSubstr("WAIT%"), HasSubstr("    64M      0M    128M"),
                               HasSubstr("last decisions"), HasSubstr("memory suffices")));
}

TEST_F(TopCommand, WithoutATerminalOnceIsMeant) {
  Write(Own());
  EXPECT_EQ(Top(pid() + " --interval 0.5").code, 0);
}

TEST_F(TopCommand, JsonIsAnObject) {
  Write(Own());
  const Output shown = Top(pid() + " --once --interval 0.5 --format json");
  EXPECT_EQ(shown.code, 0) << shown.err;
  const auto json = nlohmann::json::parse(shown.out);
  EXPECT_THAT(json["processes"], SizeIs(1));
}

TEST_F(TopCommand, AStreamEndsWithTheProcess) {
  Write(Own());
  // The process that is looked at is the one that removes its record, after the first line.
  const std::string remove = "'" + PathOf(Own()) + "'";
  const Output shown = RunBinary(
      "XDG_RUNTIME_DIR='" + run() + "'",
      "top " + pid() +
          " --interval 0.5 --format json | while read -r line; do echo \"$line\"; rm -f " + remove +
          "; done");
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("\"processes\":[{"));
  EXPECT_THAT(shown.out, HasSubstr("\"processes\":[]"));
}

TEST_F(TopCommand, AProcessThatShowsNothingIsSaid) {
  const Output shown = Top("2147483646 --once");
  EXPECT_EQ(shown.code, 1);
  EXPECT_THAT(shown.err, HasSubstr("process 2147483646: it does not run under vramspan"));
}

TEST_F(TopCommand, WhatIsNoProcessOrIntervalIsRefused) {
  for (const char* wrong : {"abc", "0", "99999999999", "--interval 0.1", "--interval nan",
                            "--interval 1e9", "--interval x"}) {
    EXPECT_EQ(Top(std::string(wrong) + " --once").code, 2) << wrong;
  }
}

TEST_F(TopCommand, ANoteDoesNotKeepItFromShowingTheRest) {
  Write(Own());
  Write(std::string("live-1-2-3.v") + kLiveVersion, "nonsense");
  const Output shown = Top("--once --interval 0.5");
  EXPECT_EQ(shown.code, 0);
  EXPECT_THAT(shown.err, HasSubstr("is no live record"));
  EXPECT_THAT(shown.out, HasSubstr(pid()));
}

TEST_F(TopCommand, RunRemovesWhatTheDeadHaveLeft) {
  LiveRecord dead = Own();
  ++dead.start;
  Write(dead);
  EXPECT_EQ(RunBinary("XDG_RUNTIME_DIR='" + run() + "'", "run -- true").code, 0);
  EXPECT_FALSE(std::filesystem::exists(PathOf(dead)));
}

}  // namespace
}  // namespace vramspan
