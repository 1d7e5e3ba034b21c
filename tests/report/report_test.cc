// What reaches the page: input that nobody vouches for is checked field by field, texts stay texts,
// and plots are thinned without changing their shape.
#include "tools/replay/report.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/base/clean_text.h"
#include "tests/report/sample_replay.h"
#include "tests/report/shell.h"
#include "tools/replay/json_field.h"
#include "tools/replay/report_data.h"
#include "tools/replay/report_input.h"
#include "tools/replay/report_shared.h"
#include "tools/replay/report_thin.h"

namespace vramspan::replay {
namespace {

using nlohmann::json;
using testing::HasSubstr;

struct Broken {
  const char* what;
  std::function<void(json&)> change;
  const char* message;
};

json::json_pointer At(const char* path) { return json::json_pointer(path); }

TEST(ReportData, NamesTheFieldThatIsWrong) {
  const std::vector<Broken> cases = {
      {"no object", [](json& r) { r = json::array(); }, "the document: it is not an object"},
      {"another tool", [](json& r) { r["tool"] = "nvprof"; },
       "tool: it is not \"vramspan replay\""},
      {"no tool", [](json& r) { r.erase("tool"); }, "the document: it has no 'tool', so"},
      {"a newer version", [](json& r) { r["version"] = 2; }, "version: 2 is newer"},
      {"version 0", [](json& r) { r["version"] = 0; }, "version: 0 is not between 1 and"},
      {"no runs", [](json& r) { r.erase("runs"); }, "runs: missing"},
      {"runs no list", [](json& r) { r["runs"] = 7; }, "runs: it is not a list"},
      {"a run is a number", [](json& r) { r["runs"][1] = 7; }, "runs[1]: it is not an object"},
      {"nothing at all", [](json& r) { r["runs"] = r["curves"] = json::array(); },
       "runs: it is empty"},
      {"a policy that is a number", [](json& r) { r["runs"][3]["policy"] = 1; },
       "runs[3].policy: it is not a string"},
      {"no predicted time", [](json& r) { r["runs"][3].erase("predicted_ms"); },
       "runs[3].predicted_ms: missing"},
      {"a time that is a text", [](json& r) { r["runs"][0]["stall_ms"] = "1"; },
       "runs[0].stall_ms: it is not a number"},
      {"a negative time", [](json& r) { r["runs"][0]["stall_ms"] = -1; },
       "runs[0].stall_ms: -1 is not between 0 and 1e+15"},
      {"a huge size", [](json& r) { r["runs"][0]["bytes_in"] = 1e300; },
       "runs[0].bytes_in: 1e+300 is not between"},
      {"a size past 64 bits", [](json& r) { r["runs"][0]["device_memory_bytes"] = ~uint64_t{0}; },
       "runs[0].device_memory_bytes: 1.84467e+19 is not between"},
      {"no number",
       [](json& r) { r["runs"][0]["fetches"] = std::numeric_limits<double>::quiet_NaN(); },
       "runs[0].fetches: nan is not between"},
      {"infinity",
       [](json& r) { r["runs"][0]["slowdown"] = std::numeric_limits<double>::infinity(); },
       "runs[0].slowdown: inf is not between"},
      {"a kernel without a name", [](json& r) { r.at(At("/runs/2/kernels/0")).erase("name"); },
       "runs[2].kernels[0].name: missing"},
      {"a ratio above one", [](json& r) { r.at(At("/curves/1/points/5/miss_ratio")) = 1.5; },
       "curves[1].points[5].miss_ratio: 1.5 is not between 0 and"},
      {"sampled is a number", [](json& r) { r.at(At("/curves/0/sampled")) = 1; },
       "curves[0].sampled: it is neither true nor false"},
      {"prices no object", [](json& r) { r["prices"] = 3; }, "prices: it is not an object"},
      {"a problem that is an object",
       [](json& r) {
         r["trace"]["problems"] = {{{"a", 1}}};
       },
       "trace.problems[0]: it is not a string"},
      {"too many runs", [](json& r) { r["runs"] = json(6'000, 0); },
       "runs: it is a list of 6000; use at most 5000"},
      {"too many traces",
       [](json& r) {
         const json run = r["runs"][0];
         for (int i = 0; i < 200; ++i) {
           r["runs"].push_back(run);
           r["runs"].back()["trace"] = absl::StrCat(i);
         }
       },
       "trace: it has more than 100 traces"},
      {"a timeline too short", [](json& r) { r.at(At("/runs/3/timeline/stall_ms")).erase(0); },
       "runs[3].timeline.stall_ms: it is a list of 299 for 300 bins"},
      {"a timeline without bins", [](json& r) { r.at(At("/runs/3/timeline/bins")) = 0; },
       "runs[3].timeline.bins: 0 is not between 1"},
      {"more resident than there is",
       [](json& r) { r.at(At("/runs/3/timeline/allocations/2/resident/7")) = 2; },
       "runs[3].timeline.allocations[2].resident[7]: 2 is not between"},
  };
  for (const Broken& broken : cases) {
    json replay = SmallReplay();
    broken.change(replay);
    std::ostringstream out;
    const Status status = WriteReport(replay, "", out);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << broken.what;
    EXPECT_THAT(std::string(status.message()), HasSubstr(broken.message)) << broken.what;
    EXPECT_EQ(out.str(), "") << broken.what;
  }
}

TEST(ReportData, TakesWhatMayBeMissing) {
  json replay = SmallReplay();
  replay.erase("trace");
  replay.erase("prices");
  replay.erase("curves");
  for (json& run : replay["runs"]) {
    run.erase("kernels");
    run.erase("timeline");
    run.erase("slowdown");
    run.erase("round_ms");
    run["resident_round_ms"] = nullptr;
    run["bound_fetches"] = run["device_memory_percent"] = nullptr;
    run["of a later version"] = {1, 2, 3};
  }
  const auto data = ReadReportData(replay);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->cases.size(), 1u);
  const ReportRun& run = data->cases[0].runs[0];
  EXPECT_DOUBLE_EQ(run.slowdown, run.predicted_ms / run.resident_ms);
  EXPECT_EQ(run.percent, std::nullopt);
  EXPECT_EQ(run.round_ms, std::nullopt);
  EXPECT_EQ(run.resident_round_ms, std::nullopt);
}

TEST(ReportData, GroupsByTrace) {
  json replay = SmallReplay();
  const size_t runs = replay["runs"].size();
  for (size_t i = 0; i < runs; i += 2) replay["runs"][i]["trace"] = "other.vramspan";
  const auto data = ReadReportData(replay);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->cases.size(), 2u);
  EXPECT_EQ(data->cases[0].trace.file, "other.vramspan");
  EXPECT_EQ(data->cases[0].runs.size() + data->cases[1].runs.size(), runs);
  EXPECT_EQ(data->cases[0].trace.device, "");  // What is known is of the other.
  EXPECT_EQ(data->cases[1].trace.device, "NVIDIA H100 PCIe");
  EXPECT_TRUE(data->cases[0].curves.empty());
}

TEST(ReportInput, SaysWhereATextIsNoJson) {
  for (const std::string text :
       {"", "{", "{\"a\":NaN}", "[1,2", "{} x", "[1e999]", "\"\xff\"", "\"\\ud800\"", "nul"}) {
    const auto parsed = ParseReplay(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_TRUE(absl::IsInvalidArgument(parsed.status()));
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("not valid JSON at byte"))
        << text;
  }
  EXPECT_TRUE(ParseReplay(" {\"a\": [1, null, \"\xc3\xa9\"]} ").ok());
}

TEST(ReportInput, BoundsWhatAFileCanCost) {
  EXPECT_THAT(std::string(ParseReplay(std::string(10'000'000, '[')).status().message()),
              HasSubstr("nested more than 32 levels deep"));
  std::string zeros = "[0";
  for (size_t i = 0; i < kMostReplayValues; ++i) zeros += ",0";
  EXPECT_THAT(std::string(ParseReplay(zeros + "]").status().message()),
              HasSubstr("more than 8388608 values"));
  EXPECT_TRUE(ParseReplay(std::string(32, '[') + std::string(32, ']')).ok());
}

TEST(ReportInput, NamesTheFileThatCannotBeRead) {
  const auto fails = [](const std::string& path, const char* why) {
    const auto read = ReadReplayFile(path);
    ASSERT_FALSE(read.ok()) << path;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(path + ": "));
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(why));
  };
  fails(TestFolder() + "/none.json", "No such file");
  fails(TestFolder(), "Is a directory");
  const std::string path = TestFolder() + "/long.json";
  WriteWhole(path, "[");
  std::filesystem::resize_file(path, kMostReplayBytes + 1);
  fails(path, "longer than the 64 MiB");
  fails("/dev/zero", "longer than the 64 MiB");
}

TEST(ReportInput, TellsJsonFromTraces) {
  const std::string path = TestFolder() + "/kind";
  for (const char* text : {"{}", " \n\t{\"a\":1}", "[", ""}) {
    WriteWhole(path, text);
    EXPECT_TRUE(LooksLikeJson(path)) << text;
  }
  WriteWhole(path, "\xef\xbb\xbf {}");
  EXPECT_TRUE(LooksLikeJson(path));
  EXPECT_TRUE(ReadReplayFile(path).ok());
  WriteWhole(path, std::string("\xff\xfe{\0}\0", 6));
  EXPECT_TRUE(LooksLikeJson(path));
  EXPECT_THAT(std::string(ReadReplayFile(path).status().message()), HasSubstr("text in UTF-16"));
  WriteWhole(path, "\x50\x2a\x4d\x18vramspan");
  EXPECT_FALSE(LooksLikeJson(path));
}

// The text of the element that holds the data.
std::string DataOf(const std::string& page) {
  constexpr std::string_view kStart = "<script type=\"application/json\" id=\"data\">";
  const size_t begin = page.find(kStart) + kStart.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

std::string PageOf(const json& replay, const std::string& title) {
  std::ostringstream out;
  const Status status = WriteReport(replay, title, out);
  EXPECT_TRUE(status.ok()) << status;
  return out.str();
}

TEST(Report, TextsCannotLeaveTheirPlace) {
  const json replay = HostileReplay();
  const std::string page = PageOf(replay, "</title><script>alert(1)</script>{{data}}&\"'");
  const std::string data = DataOf(page);
  for (const char c : data) {
    ASSERT_TRUE(c >= ' ' && c < 0x7f && c != '<' && c != '>' && c != '&') << int{c};
  }
  const json parsed = json::parse(data);
  const std::string why = parsed.at(At("/cases/0/runs/0/kernels/0/why"));
  EXPECT_THAT(why, HasSubstr("</script><script>document.title='broken'</script>"));
  EXPECT_THAT(page, HasSubstr("<title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;{{data}}"
                              "&amp;&quot;&#39;</title>"));
  EXPECT_EQ(parsed["title"], "</title><script>alert(1)</script>{{data}}&\"'");
  size_t scripts = 0;
  for (size_t at = page.find("<script"); at != std::string::npos;
       at = page.find("<script", at + 1)) {
    ++scripts;
  }
  EXPECT_EQ(scripts, 2u);
}

TEST(Report, ReplacesWhatIsNoText) {
  EXPECT_EQ(CleanText("a\x01\n\x7f"
                      "b\xff\xc3",
                      100),
            "a\ufffd\ufffd\ufffdb\ufffd\ufffd");
  EXPECT_EQ(CleanText("\xe2\x80\xae"
                      "abc\xe2\x81\xa6\xe2\x80\xa8",
                      100),
            "\ufffdabc\ufffd\ufffd");
  EXPECT_EQ(CleanText("\xed\xa0\x80\xf4\x90\x80\x80\xc0\x80", 100),
            "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd");
  EXPECT_EQ(CleanText("größe 😀", 100), "größe 😀");
  EXPECT_EQ(CleanText("größe", 4), "grö…");
  EXPECT_EQ(CleanText("größe", 3), "gr…");
  json replay = SmallReplay();
  replay["runs"][0]["kernels"][0]["name"] = "\xff\xfe";
  replay["prices"]["\xff"] = {1, "\xff"};
  EXPECT_THAT(DataOf(PageOf(replay, "")), HasSubstr("\\ufffd"));
}

TEST(Report, TitleIsTheTraceUnlessGiven) {
  EXPECT_THAT(PageOf(SmallReplay(), ""), HasSubstr("<title>train.vramspan</title>"));
  EXPECT_THAT(PageOf(SmallReplay(), "Half the card"), HasSubstr("<title>Half the card</title>"));
}

TEST(Report, KeepsThePageSmall) {
  json replay = SmallReplay();
  json& timeline = replay.at(At("/runs/3/timeline"));
  const json one = timeline["allocations"][0];
  for (int i = 0; i < 900; ++i) timeline["allocations"].push_back(one);
  for (json& run : replay["runs"]) {
    if (run["policy"] != "min") run["timeline"] = timeline;
  }
  replay["trace"]["problems"] = json(10'000, "a problem");
  const std::string page = PageOf(replay, "");
  EXPECT_LT(page.size(), 2u << 20);
  const json data = json::parse(DataOf(page));
  EXPECT_EQ(data.at(At("/cases/0/trace/problems")).size(), 51u);
  EXPECT_EQ(data.at(At("/cases/0/trace/problems/50")), "and 9950 more");
  EXPECT_EQ(data.at(At("/cases/0/runs/3/timeline/left_out")), 904);
}

TEST(ReportThin, KeepsTheShapeOfACurve) {
  std::vector<ReportCurve::Point> steps;
  for (int i = 0; i < 10'000; ++i) {
    steps.push_back({.memory = double(i), .misses = 0, .miss_ratio = i < 3'333 ? 0.9 : 0.1});
  }
  const auto thin = ThinCurve(steps, 100);
  ASSERT_EQ(thin.size(), 100u);
  EXPECT_EQ(thin.front().memory, 0);
  EXPECT_EQ(thin.back().memory, 9'999);
  for (size_t i = 1; i < thin.size(); ++i) EXPECT_GT(thin[i].memory, thin[i - 1].memory);
  // The step is where it was, to a bucket.
  const auto step =
      std::find_if(thin.begin(), thin.end(), [](auto p) { return p.miss_ratio < 0.5; });
  EXPECT_NEAR(step->memory, 3'333, 102);
  EXPECT_EQ(ThinCurve(steps, 10'000).size(), 10'000u);
  EXPECT_EQ(ThinCurve({steps.begin(), steps.begin() + 1}, 2).size(), 1u);
  EXPECT_EQ(ThinCurve(steps, 2).size(), 2u);
}

TEST(ReportThin, JoinsBinsWithoutLosingWhatIsCounted) {
  ReportTimeline timeline{.bins = 7, .bin_ms = 2};
  timeline.allocations.push_back({"a", 10, {1, 1, 0, 0, 1, 0, 1}});
  timeline.device_bytes = {1, 3, 5, 7, 9, 11, 13};
  timeline.fetches = timeline.stall_ms = {1, 2, 3, 4, 5, 6, 7};
  const ReportTimeline thin = ThinTimeline(timeline, 3);
  EXPECT_EQ(thin.bins, 3u);
  EXPECT_EQ(thin.bin_ms, 6);
  EXPECT_THAT(thin.fetches, testing::ElementsAre(6, 15, 7));
  EXPECT_THAT(thin.device_bytes, testing::ElementsAre(3, 9, 13));
  EXPECT_THAT(thin.allocations[0].resident,
              testing::ElementsAre(testing::DoubleEq(2. / 3), testing::DoubleEq(1. / 3), 1));
  EXPECT_EQ(ThinTimeline(timeline, 7).bins, 7u);
}

TEST(ReportShared, StripsAreMeansOfSharesAndTurnsAreKept) {
  const SharedReport report = ReadSharedReport(SharedSample()).value();
  EXPECT_EQ(report.title, "first, </script><b>second");
  EXPECT_EQ(report.prices, "an H100's");
  const json& run = report.runs.at(0);
  ASSERT_EQ(run["bins"], 200);
  EXPECT_DOUBLE_EQ(run["bin_ms"], 300);
  const auto part = [&](size_t tenant, double ms) {
    return run["tenants"][tenant]["share"][static_cast<size_t>(ms / 300)].get<double>();
  };
  EXPECT_NEAR(part(0, 5e3), 1, 1e-3);
  EXPECT_NEAR(part(1, 5e3), 0, 1e-3);
  // A third of this bin is before the change at 10 s.
  EXPECT_NEAR(part(0, 10e3), 1. / 3 + 2. / 3 / 2, 1e-3);
  EXPECT_NEAR(part(1, 15e3), 0.5, 1e-3);
  EXPECT_NEAR(part(0, 25e3), 0.8, 1e-3);
  EXPECT_NEAR(part(1, 59.9e3), 0.8, 1e-3);
  EXPECT_EQ(run["turns"], json::parse("[[0,20e3,30e3],[1,30e3,40e3],[0,40e3,50e3],[1,50e3,60e3]]"));
}

TEST(ReportShared, TakesTheSmallestAndTheLargestNumbers) {
  for (const double end : {0.0, 5e-324, 1e-300, 1e15}) {
    json replay = SharedSample();
    json& run = replay["runs"][0];
    run["makespan_ms"] = end;
    run["device_memory_bytes"] = end == 0 ? 0 : 1;
    const SharedReport report = ReadSharedReport(replay).value();
    for (const json& tenant : report.runs[0]["tenants"]) {
      for (const double part : tenant["share"]) {
        EXPECT_GE(part, 0) << end;
        EXPECT_LE(part, 1) << end;
      }
    }
  }
}

TEST(ReportShared, NamesTheFieldThatIsWrong) {
  const auto run = [](json& r) -> json& { return r["runs"][0]; };
  const std::vector<Broken> cases = {
      {"a newer version", [](json& r) { r["version"] = 2; }, "version: 2 is newer"},
      {"no runs", [](json& r) { r["runs"] = json::array(); }, "runs: it is empty"},
      {"no tenants", [&](json& r) { run(r)["tenants"] = json::array(); },
       "runs[0].tenants: it is empty"},
      {"a tenant too much", [&](json& r) { run(r)["turns"][1]["tenant"] = 2; },
       "runs[0].turns[1].tenant: 2 is not between 0 and 1"},
      {"half a tenant", [&](json& r) { run(r)["turns"][1]["tenant"] = 0.5; },
       "runs[0].turns[1].tenant: it is no whole number"},
      {"a turn that ends before", [&](json& r) { run(r)["turns"][1]["to_ms"] = 1; },
       "runs[0].turns[1].to_ms: it is before its begin"},
      {"too few shares", [&](json& r) { run(r)["shares"][2]["bytes"].erase(1); },
       "runs[0].shares[2].bytes: it has 1 for 2 programs"},
      {"time goes back", [&](json& r) { run(r)["shares"][2]["ms"] = 1; },
       "runs[0].shares[2].ms: it is before the one above"},
      {"no slowdown", [&](json& r) { run(r)["tenants"][1].erase("slowdown"); },
       "runs[0].tenants[1].slowdown: missing"},
      {"a name that is none", [&](json& r) { run(r)["tenants"][1]["name"] = 7; },
       "runs[0].tenants[1].name: it is not a string"},
  };
  for (const Broken& broken : cases) {
    json replay = SharedSample();
    broken.change(replay);
    std::ostringstream page;
    const Status status = WriteReport(replay, "", page);
    EXPECT_THAT(status.message(), HasSubstr(broken.message)) << broken.what;
    EXPECT_EQ(page.str(), "") << broken.what;
  }
}

}  // namespace
}  // namespace vramspan::replay
