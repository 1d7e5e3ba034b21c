// The report's sentences say what the data say, and nothing where they say nothing.
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/replay/report_advice.h"

namespace vramspan::replay {
namespace {

using testing::HasSubstr;

constexpr double kGiB = 1 << 30;
constexpr double kMiB = 1 << 20;

ReportRun Ran(const std::string& policy, double gib, double chunk_mib, double slowdown) {
  ReportRun run{.policy = policy, .budget = gib * kGiB, .chunk = chunk_mib * kMiB};
  run.percent = gib * 10;  // The peak is 10 GiB.
  run.resident_ms = 1'000;
  run.slowdown = slowdown;
  run.predicted_ms = slowdown * run.resident_ms;
  return run;
}

ReportCase Case(std::vector<ReportRun> runs) {
  ReportCase one;
  one.trace.peak_bytes = 10 * kGiB;
  one.runs = std::move(runs);
  return one;
}

// The advice on a topic; "" where there is none.
std::string On(const ReportCase& one, const std::string& topic) {
  for (const Advice& advice : FindingsOf(one).advice) {
    if (advice.topic == topic) return advice.text;
  }
  return "";
}

TEST(ReportAdvice, TheHeadlineIsAboutHalfOfThePeak) {
  const ReportCase one = Case({Ran("lru", 2, 8, 4), Ran("lru", 4.5, 8, 3), Ran("cycle", 4.5, 8, 2),
                               Ran("min", 4.5, 8, 1.5), Ran("lru", 10, 8, 1)});
  const Findings findings = FindingsOf(one);
  EXPECT_EQ(findings.focus, 2u);
  EXPECT_EQ(findings.headline,
            "At 4.5 GiB (45 %) this program takes 2.00 times as long as with all of its memory on "
            "the device; cycle with 8 MiB chunks is best, and the bound is 1.50 times.");
  EXPECT_EQ(findings.command,
            "vramspan run --device-memory 4608MiB --policy cycle --chunk 8MiB -- PROGRAM");
}

TEST(ReportAdvice, TheCommandAsksForWhatWasReplayed) {
  ReportCase one = Case({Ran("lru", 5, 8, 2)});
  for (const char* overlap : {"off", "proven", "safe", "all"}) {
    one.runs[0].overlap = overlap;
    EXPECT_THAT(FindingsOf(one).command,
                HasSubstr(absl::StrCat("--chunk 8MiB --overlap ", overlap, " -- PROGRAM")));
  }
  for (const char* overlap : {"", "auto", "declared", "all; echo"}) {
    one.runs[0].overlap = overlap;
    EXPECT_THAT(FindingsOf(one).command, HasSubstr("--chunk 8MiB -- PROGRAM")) << overlap;
  }
  one.runs[0].policy = "lru; echo";
  EXPECT_EQ(FindingsOf(one).command, "");
}

TEST(ReportAdvice, TheHeadlineComparesFetchesWhereTheBoundIsSlower) {
  ReportCase one = Case({Ran("cost", 5, 8, 2), Ran("min", 5, 8, 9)});
  one.runs[0].fetches = 300;
  one.runs[1].fetches = 200;
  EXPECT_THAT(
      FindingsOf(one).headline,
      HasSubstr("cost with 8 MiB chunks is best, and fetches 1.50 times as many chunks as the "
                "fewest possible."));
  one.runs.pop_back();
  EXPECT_THAT(FindingsOf(one).headline, testing::EndsWith("cost with 8 MiB chunks is best."));
}

TEST(ReportAdvice, WithoutPercentTheBudgetIsComparedWithThePeakOrTheLargest) {
  ReportCase one = Case({Ran("lru", 3, 8, 4), Ran("lru", 5, 8, 2), Ran("lru", 8, 8, 1)});
  for (ReportRun& run : one.runs) run.percent.reset();
  EXPECT_EQ(FindingsOf(one).focus, 1u);
  one.trace.peak_bytes = 0;
  EXPECT_EQ(FindingsOf(one).focus, 0u);
  EXPECT_THAT(FindingsOf(one).headline, HasSubstr("At 3 GiB this program"));
}

TEST(ReportAdvice, AmongEqualsTheDefaultsAreBest) {
  const ReportCase one = Case({Ran("arc", 5, 8, 1.5), Ran("cost", 5, 8, 1.503),
                               Ran("cost", 5, 0, 1.505), Ran("cost", 5, 2, 1.6)});
  EXPECT_EQ(FindingsOf(one).focus, 2u);
  EXPECT_THAT(FindingsOf(one).command, HasSubstr("--policy cost --chunk auto"));
}

TEST(ReportAdvice, SaysFromWhichBudgetOnItFits) {
  const ReportCase some = Case({Ran("cost", 4, 0, 1.8), Ran("cost", 6, 0, 1.04),
                                Ran("cost", 8, 0, 1.02), Ran("lru", 4, 0, 3)});
  EXPECT_EQ(
      On(some, "Memory"),
      "From 6 GiB (60 %) on the program stays within 5 % of full speed (1.04 times, cost with "
      "chunks chosen by size). At 4 GiB (40 %) it takes 1.80 times.");
  EXPECT_THAT(On(Case({Ran("cost", 4, 0, 1.0), Ran("cost", 8, 0, 1.0)}), "Memory"),
              HasSubstr("Even 4 GiB (40 %), the least that was tried"));
  EXPECT_THAT(On(Case({Ran("cost", 4, 0, 3), Ran("cost", 8, 0, 1.2)}), "Memory"),
              HasSubstr("No budget that was tried stays within 5 %"));
  EXPECT_THAT(On(Case({Ran("cost", 4, 0, 3), Ran("cost", 8, 0, 1.01)}), "Memory"),
              HasSubstr("Only the largest budget that was tried, 8 GiB (80 %)"));
}

TEST(ReportAdvice, ComparesPoliciesEachAtItsBest) {
  const ReportCase one = Case({Ran("cost", 5, 8, 2), Ran("cost", 5, 2, 4), Ran("cycle", 5, 8, 1.5),
                               Ran("lru", 5, 8, 5), Ran("lru", 5, 2, 3), Ran("cost", 8, 8, 1.1),
                               Ran("cycle", 8, 8, 1.2)});
  EXPECT_EQ(
      On(one, "Policy"),
      "At 5 GiB (50 %) the best is cycle (1.50 times); the slowest is lru (3.00 times). cycle is "
      "best, or as good as the best, at 1 of the 2 budgets. The default, cost, takes 2.00 "
      "times.");
  EXPECT_THAT(On(Case({Ran("cost", 5, 8, 1.5), Ran("lru", 5, 8, 1.51)}), "Policy"),
              HasSubstr("makes little difference"));
  EXPECT_EQ(On(Case({Ran("cost", 5, 8, 1.5)}), "Policy"), "");
}

TEST(ReportAdvice, SaysHowFarTheBoundIs) {
  ReportCase one = Case({Ran("cost", 5, 8, 2), Ran("min", 5, 8, 1.5)});
  one.runs[0].fetches = 300;
  one.runs[1].fetches = 100;
  EXPECT_THAT(On(one, "Bound"), HasSubstr("3.00 times as many chunks"));
  one.runs[0].bound_fetches = 290;  // What the run itself says goes first.
  EXPECT_THAT(On(one, "Bound"), HasSubstr("can gain little"));
  one.runs[0].fetches = 0;
  EXPECT_EQ(On(one, "Bound"), "");
}

TEST(ReportAdvice, ComparesChunkSizesEachAtItsBest) {
  const ReportCase one =
      Case({Ran("cost", 5, 8, 1.5), Ran("cost", 5, 2, 2.5), Ran("lru", 5, 2, 2.2)});
  EXPECT_EQ(On(one, "Chunk size"),
            "At 5 GiB (50 %) use 8 MiB chunks (1.50 times); worst are 2 MiB chunks (2.20 times at "
            "best).");
  EXPECT_THAT(On(Case({Ran("cost", 5, 8, 1.5), Ran("cost", 5, 2, 1.51)}), "Chunk size"),
              HasSubstr("makes little difference"));
}

TEST(ReportAdvice, SaysWhatARoundTakes) {
  ReportCase one = Case({Ran("cost", 5, 0, 3)});
  EXPECT_EQ(On(one, "Round"), "");
  one.trace.round_works = 1204;
  one.runs[0].resident_round_ms = 20;
  one.runs[0].round_ms = 50;
  EXPECT_EQ(On(one, "Round"),
            "A round of 1204 pieces of work takes 20 ms with all memory on the device, and 50 ms "
            "(2.50 times) at 5 GiB (50 %). Costs paid once are left out.");
}

TEST(ReportAdvice, SaysWhatTheStallsWaitFor) {
  ReportCase one = Case({Ran("cost", 5, 8, 2)});
  one.runs[0].stall_ms = one.runs[0].stall_copy_ms = 800;
  EXPECT_THAT(On(one, "Stalls"), HasSubstr("800 ms of 2 s are stalls: 100 % wait for copies"));
  EXPECT_THAT(On(one, "Stalls"), HasSubstr("The link is the limit"));
  one.runs[0].stall_vmm_ms = 900;
  EXPECT_THAT(On(one, "Stalls"), HasSubstr("Larger chunks"));
  one.runs[0].stall_drain_ms = 1'000;
  EXPECT_THAT(On(one, "Stalls"), HasSubstr("kernels that are trusted"));
  one.runs[0].slowdown = 1.01;
  EXPECT_EQ(On(one, "Stalls"), "");
}

TEST(ReportAdvice, NamesTheKernelsThatMakeMostOfTheAddedTime) {
  ReportCase one = Case({Ran("cost", 5, 8, 2)});
  const auto kernel = [](const char* name, double added) {
    return ReportKernel{
        .name = name, .why = "it waits", .resident_ms = 100, .predicted_ms = 100 + added};
  };
  one.runs[0].kernels = {kernel("small", 50), kernel("large", 600), kernel("faster", -10),
                         kernel("middle", 250), kernel("tiny", 20)};
  EXPECT_EQ(On(one, "Kernels"),
            "Look at 'large' (600 ms, 60 %), 'middle' (250 ms, 25 %): 85 % of the added time. The "
            "first: it waits.");
  one.runs[0].kernels.clear();
  EXPECT_EQ(On(one, "Kernels"), "");
}

TEST(ReportAdvice, PinsWhatIsSmallAndComesAndGoes) {
  ReportCase one = Case({Ran("cost", 5, 8, 2)});
  ReportTimeline timeline{.bins = 6, .bin_ms = 1};
  timeline.allocations = {{"huge", 4 * kGiB, {1, 0, 1, 0, 1, 0}},
                          {"table", 100 * kMiB, {1, 0, 1, 0, 1, 0}},
                          {"steady", 100 * kMiB, {1, 1, 1, 1, 1, 1}},
                          {"once", 100 * kMiB, {0, 1, 1, 1, 0, 0}}};
  one.runs[0].timeline = timeline;
  EXPECT_EQ(On(one, "Pinning"),
            "Candidates for vramspanMemPin come and go often, and take 100 MiB together: 'table' "
            "(100 MiB, 2 times).");
  one.runs[0].timeline->allocations.resize(1);
  EXPECT_EQ(On(one, "Pinning"), "");
}

TEST(ReportAdvice, FindsWhereMoreMemoryStopsToHelp) {
  ReportCase one = Case({});
  one.curves.push_back(
      {.policy = "lru",
       .points = {
           {kGiB, 90, 0.9}, {2 * kGiB, 6, 0.06}, {3 * kGiB, 5.5, 0.055}, {4 * kGiB, 5, 0.05}}});
  EXPECT_THAT(On(one, "Memory"), HasSubstr("more than 2 GiB"));
  const Findings findings = FindingsOf(one);
  EXPECT_EQ(findings.focus, std::nullopt);
  EXPECT_THAT(findings.headline, HasSubstr("No policy was replayed"));
  EXPECT_EQ(findings.command, "");
}

TEST(ReportAdvice, OnlyTheBoundIsNoAnswer) {
  const Findings findings = FindingsOf(Case({Ran("min", 5, 8, 1.5)}));
  EXPECT_EQ(findings.focus, std::nullopt);
  EXPECT_THAT(findings.headline, HasSubstr("No policy was replayed"));
}

}  // namespace
}  // namespace vramspan::replay
