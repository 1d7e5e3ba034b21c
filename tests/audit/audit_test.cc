// `vramspan audit` as a user runs it, on a program that knows what is right (audited.cc). On the
// simulated driver a page counts whole, so the figures are exact, but for what kernels add to: that
// counts as read as well where the compiler reads and writes in two instructions.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/tools/run_binary.h"
#include "tools/vramspan/audit_report.h"

namespace vramspan {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr uint64_t kBuffer = 4 << 20;  // Of the program's.
// In a build for AddressSanitizer the preload has its runtime, and programs of others have not.
constexpr char kAnyOrder[] = "ASAN_OPTIONS=verify_asan_link_order=0 ";

auto OnceOrTwice(uint64_t bytes) { return AnyOf(Json(bytes), Json(2 * bytes)); }

Output Audit(const std::string& what, const std::string& options = "",
             const std::string& environment = "") {
  return RunBinary("SIMCUDA_DEVICE_MEMORY=256MiB VRAMSPAN_CUPTI_TRACER='" VRAMSPAN_TRACER_LIBRARY
                   "' " +
                       std::string(kAnyOrder) + environment,
                   "audit " + options + " -- '" VRAMSPAN_AUDITED "' " + what);
}

// Of an audit whose report is in a file.
Json Report(const std::string& what, int code = 0, const std::string& environment = "") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/report";
  const Output audit = Audit(what, "--format json --output '" + path + "'", environment);
  EXPECT_EQ(audit.code, code) << audit.err;
  Json json = Json::parse(ReadText(path), nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << ReadText(path);
  return json;
}

Json Kernel(const Json& report, const std::string& name) {
  for (const Json& kernel : report.at("kernels")) {
    if (kernel.at("name") == name) return kernel;
  }
  ADD_FAILURE() << "no kernel " << name << " in " << report.dump(1);
  return Json::object();
}

TEST(AuditTest, NothingIsMissedWhereTheParametersHoldAllPointers) {
  const Json report = Report("visible");
  EXPECT_EQ(report.at("schema"), "vramspan.audit");
  EXPECT_EQ(report.at("schema_version"), 5);
  EXPECT_EQ(report.at("exit_code"), 0);
  EXPECT_EQ(report.at("incomplete_runtimes"), 0);
  const Json& total = report.at("total");
  EXPECT_EQ(total.at("launches"), 16);
  EXPECT_EQ(total.at("counted"), 16);
  EXPECT_EQ(total.at("missed_bytes"), 0) << report.dump(1);
  EXPECT_EQ(total.at("inferred_bytes"), 16 * kBuffer);
  EXPECT_EQ(total.at("remaining_on_device_bytes"), 0);
  ASSERT_EQ(report.at("kernels").size(), 2u);
  EXPECT_THAT(Kernel(report, "add_constant").at("touched_bytes"), OnceOrTwice(12 * kBuffer));
  EXPECT_EQ(Kernel(report, "fill").at("touched_bytes"), 4 * kBuffer);
}

TEST(AuditTest, WhatOnlyMemoryLeadsToIsMissedByThatKernelAlone) {
  const Json report = Report("hidden");
  const Json worst = report.at("kernels")[0];
  EXPECT_EQ(worst.at("name"), "add_to_table");
  EXPECT_EQ(worst.at("launches"), 1);
  EXPECT_EQ(worst.at("inferred_bytes"), kBuffer);  // The table.
  EXPECT_EQ(worst.at("host_written_bytes"), 2 * kBuffer);
  EXPECT_THAT(worst.at("missed_bytes"), OnceOrTwice(2 * kBuffer));
  EXPECT_EQ(report.at("total").at("missed_bytes"), worst.at("missed_bytes")) << report.dump(1);
}

TEST(AuditTest, AGraphIsOneLaunch) {
  const Json report = Report("graph");
  const Json graph = Kernel(report, "(graph 1)");
  EXPECT_EQ(graph.at("launches"), 2);
  EXPECT_EQ(graph.at("inferred_bytes"), 2 * 4 * kBuffer);
  EXPECT_THAT(graph.at("touched_bytes"), OnceOrTwice(2 * 4 * kBuffer));
  EXPECT_EQ(report.at("total").at("missed_bytes"), 0) << report.dump(1);
  // What was captured did not run.
  EXPECT_EQ(Kernel(report, "add_constant").at("launches"), 12);
}

TEST(AuditTest, ThreadsTakeTurns) {
  const Json report = Report("threads");
  EXPECT_EQ(report.at("total").at("counted"), 4 * 21);
  EXPECT_EQ(report.at("total").at("missed_bytes"), 0) << report.dump(1);
  EXPECT_THAT(Kernel(report, "add_constant").at("touched_bytes"), OnceOrTwice(4 * 20 * kBuffer));
}

TEST(AuditTest, NoLaunchIsLostInMany) {
  const Json report = Report("many");
  EXPECT_EQ(report.at("total").at("launches"), 401);
  EXPECT_EQ(report.at("total").at("counted"), 401);
  EXPECT_THAT(Kernel(report, "add_constant").at("touched_bytes"), OnceOrTwice(400 * kBuffer));
}

TEST(AuditTest, ALaunchThatDoesNotFitIsNoMiss) {
  const Json report = Report("over");
  const Json kernel = Kernel(report, "add_arrays");
  EXPECT_EQ(kernel.at("inferred_bytes"), 3 * kBuffer);
  EXPECT_EQ(kernel.at("over_budget").at("launches"), 1);
  EXPECT_EQ(kernel.at("counted"), 1);
  EXPECT_EQ(kernel.at("over_budget").at("host_bytes"), kBuffer) << report.dump(1);
  EXPECT_EQ(kernel.at("missed_bytes"), 0);
  EXPECT_EQ(report.at("total").at("missed_bytes"), 0);
  EXPECT_THAT(Audit("over").out, HasSubstr("does not fit on the device"));
}

TEST(AuditTest, ARuntimeThatIsNotDestroyedIsReported) {
  const Json report = Report("leave", 0, "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 ");
  EXPECT_EQ(report.at("total").at("counted"), 16);
  EXPECT_EQ(report.at("incomplete_runtimes"), 0);
}

TEST(AuditTest, AProgramThatEndsAtOnceIsReportedAsFarAsItIsKnown) {
  const Output audit = Audit("die");
  EXPECT_EQ(audit.code, 6);
  EXPECT_THAT(audit.err, HasSubstr("did not end in order"));
}

TEST(AuditTest, TheTableIsForPeople) {
  const Output audit = Audit("hidden", "--top 1");
  EXPECT_EQ(audit.code, 0) << audit.err;
  EXPECT_THAT(audit.err, IsEmpty());
  EXPECT_THAT(audit.out, AllOf(StartsWith("all right\nkernel "), HasSubstr("\nadd_to_table"),
                               Not(HasSubstr("store_pointer")), HasSubstr("\n3 more kernels"),
                               EndsWith(" %)\n")));
  EXPECT_THAT(audit.out, AnyOf(HasSubstr("\nlate or never inferred: 8388608 of "),
                               HasSubstr("\nlate or never inferred: 16777216 of ")));
}

TEST(AuditTest, TheExitCodeIsTheProgramsOwn) {
  const Output audit = Audit("exit");
  EXPECT_EQ(audit.code, 7) << audit.err;
  EXPECT_THAT(audit.out, HasSubstr("all right\n"));
  EXPECT_THAT(audit.out, HasSubstr("late or never inferred: 0 of "));
}

TEST(AuditTest, WithoutPermissionOneLineSaysWhatToDo) {
  const Output audit = Audit("visible", "", "SIMCUDA_COUNTERS=0");
  EXPECT_EQ(audit.code, 1);
  EXPECT_THAT(audit.out, IsEmpty());
  EXPECT_THAT(audit.err, AllOf(HasSubstr("vramspan audit: this user may not read"),
                               HasSubstr("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"),
                               HasSubstr("NVreg_RestrictProfilingToAdminUsers=0")));
}

TEST(AuditTest, WithoutCuptiOneLineSaysWhatToDo) {
  const Output audit = Audit("visible", "", "VRAMSPAN_CUPTI=/nowhere/libcupti.so.13");
  EXPECT_EQ(audit.code, 1);
  EXPECT_THAT(audit.out, IsEmpty());
  EXPECT_THAT(audit.err, AllOf(HasSubstr("CUPTI cannot be opened"), HasSubstr("VRAMSPAN_CUPTI")));
}

TEST(AuditTest, AProgramWithoutARuntimeHasNothingToAudit) {
  const Output audit = Audit("nothing");
  EXPECT_EQ(audit.code, 1);
  EXPECT_THAT(audit.err, AllOf(HasSubstr("no vramspan runtime"), HasSubstr("exit code was 9")));
}

TEST(AuditTest, BadUsage) {
  EXPECT_EQ(RunBinary("", "audit").code, 2);
  EXPECT_EQ(RunBinary("", "audit --format xml -- true").code, 2);
  EXPECT_EQ(RunBinary("", "audit --top many -- true").code, 2);
  const Output missing = RunBinary("", "audit -- /nowhere/program");
  EXPECT_EQ(missing.code, 127);
  EXPECT_THAT(missing.err, HasSubstr("cannot run /nowhere/program: No such file"));
  EXPECT_EQ(RunBinary("", "audit -- /etc/passwd").code, 126);
  EXPECT_EQ(Audit("visible", "--output /nowhere/report").code, 1);
  const Output help = RunBinary("", "audit --help");
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("--output"), HasSubstr("Exit status"),
                              HasSubstr("vramspan audit --top 10 -- python3 train.py --steps 3")));
}

TEST(AuditTest, AReportIsWrittenOverOnlyWhenForced) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/report";
  std::ofstream(path) << "mine";
  const Output refused = Audit("visible", "--output '" + path + "'");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr(path + ": the file exists; --force replaces it"));
  EXPECT_EQ(refused.out, "") << "before the program runs";
  EXPECT_EQ(ReadText(path), "mine");
  EXPECT_EQ(Audit("visible", "--force --output '" + path + "'").code, 0);
  EXPECT_THAT(ReadText(path), StartsWith("kernel "));
}

TEST(AuditTest, NoReportIsLeftWhereNothingWasAudited) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/report";
  EXPECT_EQ(RunBinary(kAnyOrder, "audit --simulate --output '" + path + "' -- true").code, 1);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ShortNameTest, DropsWhatNobodyReads) {
  EXPECT_EQ(audit::ShortName("fill", 20), "fill");
  EXPECT_EQ(audit::ShortName("(graph 1)", 20), "(graph 1)");
  EXPECT_EQ(audit::ShortName("i", 20), "i");
  // void ns::kernel<float, 4>(float*, int)
  EXPECT_EQ(audit::ShortName("_ZN2ns6kernelIfLi4EEEvPT_i", 20), "kernel<>");
  // (anonymous namespace)::sweep(int)
  EXPECT_EQ(audit::ShortName("_ZN12_GLOBAL__N_15sweepEi", 20), "sweep");
  EXPECT_EQ(audit::ShortName("a_name_that_is_much_too_long", 10), "a_name_...");
}

TEST(AuditReportTest, WhereNothingWasCountedATableSaysSo) {
  EXPECT_THAT(audit::ToTable(audit::Report(), 0), HasSubstr("\nno launch of a kernel by itself"));
}

TEST(AuditResultsTest, SurviveTheFile) {
  AuditResults results;
  results.complete = true;
  results.error = "two\nlines";
  results.driver = "libcuda.so.1";
  using enum AuditRow::Kind;
  results.rows.push_back(
      {kKernel, "a name with (spaces)", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, {12, 13, 14, 15}, 16});
  results.rows.back().given = {{UINT64_MAX, 8}, {5, 1}};
  results.rows.push_back({.kind = kGraph, .name = "(graph 1)", .launches = 1});
  results.rows.push_back({.kind = kOthers, .name = "(other kernels)", .launches = 1});
  results.rows.push_back({.name = "never launched"});
  const auto read = ParseAudit(AuditText(results));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->complete);
  EXPECT_EQ(read->error, "two lines");
  ASSERT_EQ(read->rows.size(), 3u);
  EXPECT_EQ(read->rows[0].name, "a name with (spaces)");
  EXPECT_EQ(read->rows[0].launches, 1u);
  EXPECT_EQ(read->rows[0].remaining, 9u);
  EXPECT_EQ(read->rows[0].sectors.doubtful_most, 14u);
  EXPECT_EQ(read->rows[0].sectors.contradicted, 15u);
  EXPECT_EQ(read->rows[0].module, 16u);
  EXPECT_EQ(read->rows[0].kind, kKernel);
  ASSERT_EQ(read->rows[0].given.size(), 2u);
  EXPECT_EQ(read->rows[0].given[0].given, UINT64_MAX);
  EXPECT_EQ(read->rows[0].given[0].launches, 8u);
  EXPECT_EQ(read->rows[0].given[1].launches, 1u);
  EXPECT_EQ(read->rows[1].kind, kGraph);
  EXPECT_EQ(read->rows[2].kind, kOthers);
  EXPECT_FALSE(ParseAudit("vramspan-audit 5\nkernel 1 2 x\n").ok());
  EXPECT_FALSE(ParseAudit("vramspan-audit 2\n").ok());
  const std::string row = "vramspan-audit 5\nkernel 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 k\n";
  EXPECT_TRUE(ParseAudit(row + "given 5 8\n").ok());
  EXPECT_FALSE(ParseAudit(row + "given 5\n").ok());
  EXPECT_FALSE(ParseAudit(row + "given 5 x\n").ok());
  EXPECT_FALSE(ParseAudit("vramspan-audit 5\ngiven 5 8\n").ok()) << "of no row";
  std::string many = row;
  for (size_t i = 0; i <= ArgumentSets::kMostGiven; ++i) many += "given 5 8\n";
  EXPECT_FALSE(ParseAudit(many).ok());
}

}  // namespace
}  // namespace vramspan
