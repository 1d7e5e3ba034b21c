// What `vramspan demo` makes of its options, and that it sees a wrong byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "tools/vramspan/demo_options.h"
#include "tools/vramspan/demo_report.h"

namespace vramspan::demo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Plan PlanOf(const Options& options, Bytes total = GiB(80), Bytes room = GiB(77)) {
  const StatusOr<Plan> plan = MakePlan(options, false, total, room);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.value_or(Plan());
}

TEST(DemoPlan, DataAreAtLeastTwiceTheDeviceMemory) {
  for (const char* memory : {"16MiB", "33MiB", "4GiB", "5000000000", "10%"}) {
    const Plan plan = PlanOf({.device_memory = memory});
    EXPECT_GE(plan.shape.data_bytes(), plan.device_memory * 2) << memory;
    // And no more than it takes to make equal blocks of chunks.
    EXPECT_LE(plan.shape.data_bytes().value, plan.device_memory.value * 2 / 100 * 135) << memory;
    EXPECT_EQ(plan.shape.blocks % 4, 0u) << memory;
    EXPECT_EQ(plan.shape.block_bytes % kGranularity.value, 0u) << memory;
  }
}

TEST(DemoPlan, DefaultsTakeWhatTheDeviceHas) {
  EXPECT_EQ(PlanOf({}).shape.data_bytes(), GiB(8));
  EXPECT_EQ(PlanOf({}).device_memory, GiB(4));
  EXPECT_LE(PlanOf({}, GiB(6), GiB(5)).shape.total_bytes(), GiB(5));
}

TEST(DemoPlan, DataMustFitForTheRunToCompareWith) {
  const StatusOr<Plan> plan = MakePlan({.data = "100GiB"}, false, GiB(80), GiB(77));
  EXPECT_TRUE(absl::IsInvalidArgument(plan.status()));
  EXPECT_THAT(std::string(plan.status().message()),
              AllOf(HasSubstr("--data"), HasSubstr("100GiB"), HasSubstr("77.00 GiB")));
}

struct BadOption {
  Options options;
  const char* option;
  const char* value;

  friend void PrintTo(const BadOption& bad, std::ostream* out) {
    *out << bad.option << "=" << bad.value;
  }
};

class DemoBadOption : public testing::TestWithParam<BadOption> {};

TEST_P(DemoBadOption, IsNamedWithItsValue) {
  Status status = CheckOptions(GetParam().options);
  if (status.ok()) status = MakePlan(GetParam().options, true, GiB(1), MiB(900)).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(GetParam().option), HasSubstr(GetParam().value)));
}

INSTANTIATE_TEST_SUITE_P(
    All, DemoBadOption,
    testing::Values(BadOption{{.device_memory = "8Gib"}, "--device-memory", "8Gib"},
                    BadOption{{.device_memory = "-1"}, "--device-memory", "-1"},
                    BadOption{{.device_memory = "120%"}, "--device-memory", "120%"},
                    BadOption{{.device_memory = "1KiB"}, "--device-memory", "1KiB"},
                    BadOption{{.device_memory = "100%"}, "--device-memory", "100%"},
                    BadOption{{.device_memory = "60%"}, "--device-memory", "60%"},
                    BadOption{{.data = "0"}, "--data", "0"},
                    BadOption{{.data = "1MiB"}, "--data", "1MiB"},
                    BadOption{{.chunk = "3MiB"}, "--chunk", "3MiB"},
                    BadOption{{.chunk = "128MiB"}, "--chunk", "128MiB"},
                    BadOption{{.policy = "mru"}, "--policy", "mru"},
                    BadOption{{.overlap = "some"}, "--overlap", "some"},
                    BadOption{{.overlap = "all", .declare = true}, "--overlap", "all"},
                    BadOption{{.format = "xml"}, "--format", "xml"}));

Report TwoRuns() {
  Report report;
  report.device = "a GPU";
  report.shape = Shape::For(MiB(64));
  report.headline_budget = MiB(32);
  for (const char* budget : {"unlimited", "50 %"}) {
    RunResult run;
    run.budget = budget;
    run.seconds = 1;
    run.digest = {1, 2, 3};
    report.runs.push_back(run);
  }
  return report;
}

TEST(DemoReport, SaysIdentical) {
  const Report report = TwoRuns();
  EXPECT_TRUE(report.AllIdentical());
  EXPECT_THAT(ToTable(report), AllOf(HasSubstr("identical"), Not(HasSubstr("DIFFERENT"))));
  EXPECT_EQ(nlohmann::json::parse(ToJson(report))["results"], "identical");
}

TEST(DemoReport, SaysDifferent) {
  Report report = TwoRuns();
  report.runs[1].digest[2] ^= 1;
  EXPECT_FALSE(report.AllIdentical());
  EXPECT_THAT(ToTable(report), AllOf(HasSubstr("DIFFERENT"), Not(HasSubstr("identical"))));
  const auto json = nlohmann::json::parse(ToJson(report));
  EXPECT_EQ(json["results"], "DIFFERENT");
  EXPECT_EQ(json["runs"][1]["results"], "DIFFERENT");
  EXPECT_EQ(json["schema_version"], kSchemaVersion);
}

TEST(DemoReport, SaysHowLaunchesWereSeen) {
  Report report = TwoRuns();
  report.launches = {.traced = true, .overlap = "all"};
  EXPECT_THAT(ToTable(report),
              HasSubstr("launches: traced by CUPTI, nothing is declared, overlap all\n"));
  EXPECT_EQ(nlohmann::json::parse(ToJson(report))["overlap"], "all");
  report.launches = {.why_declared = "no CUPTI here"};
  EXPECT_THAT(ToTable(report), HasSubstr("launches: declared (no CUPTI here)\n"));
  const auto json = nlohmann::json::parse(ToJson(report));
  EXPECT_EQ(json["launches"], "declared");
  EXPECT_EQ(json["why_declared"], "no CUPTI here");
}

}  // namespace
}  // namespace vramspan::demo
