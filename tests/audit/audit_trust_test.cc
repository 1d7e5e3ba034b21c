// What `vramspan audit --trust` writes, and what `vramspan run --trust` makes of it. The programs
// are those of audit_test.cc, as nobody changed them.
#include "tools/vramspan/audit_trust.h"

#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/observe/trust_list.h"
#include "tests/audit/unchanged.h"
#include "tests/tools/run_binary.h"

namespace vramspan {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

Output AuditUnchanged(const std::string& options, const std::string& what) {
  return RunBinary(kEnvironment, "audit --simulate --device-memory 64MiB --chunk 2MiB " + options +
                                     kUnchanged + what);
}

std::string LineOf(const std::string& text, const std::string& name) {
  for (const std::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::EndsWith(line, absl::StrCat(" ", name))) return std::string(line);
  }
  return "";
}

TEST(AuditTrustTest, AProgramThatNobodyChangedIsAudited) {
  const Output audit = AuditUnchanged("--format json", "hidden");
  ASSERT_EQ(audit.code, 0) << audit.err;
  const Json report = Json::parse(audit.out.substr(audit.out.find('{')), nullptr, false);
  ASSERT_FALSE(report.is_discarded()) << audit.out;
  EXPECT_EQ(report.at("runtimes"), 1);
  EXPECT_EQ(report.at("total").at("launches"), report.at("total").at("counted"));
  const Json worst = report.at("kernels")[0];
  EXPECT_EQ(worst.at("name"), "add_to_table");
  EXPECT_EQ(worst.at("level"), "missed");
  EXPECT_GE(worst.at("most_host_sectors"), (8 << 20) / 32);
  for (const Json& kernel : report.at("kernels")) {
    if (kernel.at("name") != "add_constant") continue;
    EXPECT_EQ(kernel.at("evidence_launches"), 12);
    EXPECT_EQ(kernel.at("argument_sets"), 4);
    EXPECT_EQ(kernel.at("most_host_sectors"), 0);
  }
}

TEST(AuditTrustTest, TheFileSaysWhatEachCodeHasShown) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/program.trust";
  const Output audit = AuditUnchanged("--trust '" + path + "'", "hidden");
  ASSERT_EQ(audit.code, 0) << audit.err;
  EXPECT_THAT(audit.out, EndsWith(absl::StrCat("VRAMSPAN_TRUST=", path, " vramspan run -- ",
                                               VRAMSPAN_AUDITED_UNCHANGED, " ...\n")));
  const std::string text = ReadText(path);
  EXPECT_THAT(text, AllOf(StartsWith("vramspan-trust 1\n"),
                          ContainsRegex("\nof [^\n]*audited_unchanged hidden, 20[0-9-]{8}, ")));
  EXPECT_THAT(LineOf(text, "add_constant"), StartsWith("kernel 12 4 0 "));
  EXPECT_THAT(LineOf(text, "fill"), StartsWith("kernel 4 4 0 "))
      << "there was no other memory at the first";
  const std::string missed = LineOf(text, "add_to_table");
  EXPECT_THAT(missed, StartsWith("kernel 0 0 "));
  EXPECT_GE(std::stoull(missed.substr(11)), (8u << 20) / 32);
  EXPECT_LT(text.find("add_constant"), text.find("add_to_table"));

  TrustList list;
  ASSERT_TRUE(list.Add(path, text).ok());
  EXPECT_EQ(list.Of("add_to_table", 0)->trust, Trust::kUntried);
  EXPECT_EQ(list.Of("add_constant", 0)->trust, Trust::kPlausible);
}

TEST(AuditTrustTest, WhatTheFileSaysHoldsInTheNextRun) {
  const TemporaryFolder folder;
  const std::string trust = folder.path() + "/program.trust", stats = folder.path() + "/stats.json";
  ASSERT_EQ(AuditUnchanged("--trust '" + trust + "'", "hidden").code, 0);
  const auto level = [&](const std::string& options, const std::string& kernel) {
    std::filesystem::remove(stats);
    const Output run =
        RunBinary(kEnvironment, "run --simulate --device-memory 8MiB --chunk 2MiB --stats='" +
                                    stats + "' " + options + kUnchanged + "hidden");
    EXPECT_EQ(run.code, 0) << run.err;
    const Json json = Json::parse(ReadText(stats), nullptr, false);
    for (const Json& k : json.value("kernels", Json::array())) {
      if (k.at("name") == kernel) return std::string(k.at("trust"));
    }
    return std::string("not told: ") + ReadText(stats);
  };
  EXPECT_EQ(level("", "add_constant"), "untried");
  EXPECT_EQ(level("--trust '" + trust + "'", "add_constant"), "proven");
  EXPECT_EQ(level("--trust '" + trust + "'", "add_to_table"), "untried");
}

TEST(AuditTrustTest, WhatWasReadOfCodeHoldsInARun) {
  const TemporaryFolder folder;
  const std::string audited = folder.path() + "/audited.trust",
                    read = folder.path() + "/read.trust", stats = folder.path() + "/stats.json";
  ASSERT_EQ(AuditUnchanged("--trust '" + audited + "'", "hidden").code, 0);
  const std::vector<std::string> words =
      absl::StrSplit(LineOf(ReadText(audited), "add_constant"), ' ');
  ASSERT_EQ(words.size(), 6u);
  uint64_t module = 0;
  ASSERT_TRUE(absl::SimpleHexAtoi(words[4], &module));
  // All of its image but one, as `vramspan prove` says it.
  std::ofstream(read) << "vramspan-trust 1\nof libaudited.so, today\n"
                      << ImageLine(module, 9) << UnreadLine(module, "add_to_table");
  const Output run =
      RunBinary(kEnvironment, "run --simulate --device-memory 8MiB --chunk 2MiB --stats='" + stats +
                                  "' --trust '" + read + "'" + kUnchanged + "hidden");
  ASSERT_EQ(run.code, 0) << run.err;
  const Json json = Json::parse(ReadText(stats), nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  size_t told = 0;
  for (const Json& k : json.at("kernels")) {
    const std::string name = k.at("name"), trust = k.at("trust"), why = k.at("why");
    told += name == "add_to_table" || name == "add_constant" || name == "fill" ? 1 : 0;
    if (name == "add_to_table") {
      EXPECT_EQ(trust, "untried");
    }
    if (name != "add_constant" && name != "fill") continue;
    EXPECT_EQ(trust, "proven");
    EXPECT_EQ(why, "read, it takes no address from memory: libaudited.so, today");
  }
  EXPECT_EQ(told, 3u);
  EXPECT_GE(json.at("launches_proven"), 12);
}

TEST(AuditTrustTest, CodeThatIsAlwaysGivenTheSameIsProvenForThat) {
  const TemporaryFolder folder;
  const std::string trust = folder.path() + "/program.trust", stats = folder.path() + "/stats.json";
  const Output audit = AuditUnchanged("--trust '" + trust + "'", "same");
  ASSERT_EQ(audit.code, 0) << audit.err;
  EXPECT_THAT(audit.out, HasSubstr(" proven, if given this\n"));
  const std::string text = ReadText(trust);
  EXPECT_THAT(text, ContainsRegex("\nkernel 12 2 0 [0-9a-f]{16} add_constant\n"
                                  "given-kernel 12 2 0 [0-9a-f]{16} [0-9a-f]{16} add_constant\n"));
  const Output run =
      RunBinary(kEnvironment, "run --simulate --device-memory 8MiB --chunk 2MiB --stats='" + stats +
                                  "' --trust '" + trust + "'" + kUnchanged + "same_and_other");
  EXPECT_EQ(run.code, 0) << run.err;
  const Json json = Json::parse(ReadText(stats), nullptr, false);
  EXPECT_EQ(json.value("launches_proven", 0), 12) << "the first of them, and those that are known";
  for (const Json& k : json.value("kernels", Json::array())) {
    if (k.at("name") != "add_constant") continue;
    EXPECT_EQ(k.at("trust"), "plausible");
    EXPECT_THAT(std::string(k.at("why")), HasSubstr("; of its launches 1 kind is proven"));
    EXPECT_EQ(k.at("launches"), 13);
    EXPECT_EQ(k.at("proven"), 12) << "those that are given the same";
  }
}

// CUPTI may not start between two batches of ranges, and does so later.
TEST(AuditTrustTest, LaunchesThatCannotBeCountedAreLeftOut) {
  const auto audit = [](const std::string& refused) {
    return RunBinary(kEnvironment + ("SIMCUDA_REFUSED_STARTS=" + refused + " "),
                     "audit --simulate --device-memory 64MiB --chunk 2MiB --format json" +
                         (kUnchanged + std::string("many")));
  };
  const Output some = audit("100");
  EXPECT_EQ(some.code, 0) << some.err;
  const Json total = Json::parse(some.out.substr(some.out.find('{')), nullptr, false).at("total");
  EXPECT_EQ(total.at("launches"), 401);
  EXPECT_EQ(total.at("counted"), 301);
  const Output all = audit("1000");
  EXPECT_EQ(all.code, 1);
  EXPECT_THAT(all.err, HasSubstr("CUPTI refused RangeStart"));
}

// Of one kernel, in the audit of a program that nobody changed.
Json Audited(const std::string& options, const std::string& what, const std::string& kernel) {
  const Output audit = RunBinary(
      kEnvironment, "audit --simulate --chunk 2MiB --format json " + options + kUnchanged + what);
  EXPECT_EQ(audit.code, 0) << audit.err;
  const Json report = Json::parse(audit.out.substr(audit.out.find('{')), nullptr, false);
  for (const Json& k : report.value("kernels", Json::array())) {
    if (k.at("name") == kernel) return k;
  }
  ADD_FAILURE() << audit.out;
  return Json::object();
}

TEST(AuditTrustTest, TheMostIsOfOneLaunch) {
  const Json kernel = Audited("--device-memory 64MiB", "twice", "add_to_table");
  const uint64_t missed = kernel.at("missed_bytes");
  EXPECT_EQ(kernel.at("launches"), 2);
  EXPECT_EQ(kernel.at("most_host_sectors"), missed / 2 / 32);
  EXPECT_EQ(kernel.at("argument_sets"), 0) << "that prove anything";
}

TEST(AuditTrustTest, WhatCouldNotShowIsNoEvidence) {
  // There is no room in host memory for what was not inferred.
  Json kernel = Audited("--device-memory 64MiB --host-memory 2MiB", "visible", "add_constant");
  EXPECT_EQ(kernel.at("counted"), 12);
  EXPECT_NE(kernel.at("remaining_on_device_bytes"), 0);
  EXPECT_EQ(kernel.at("evidence_launches"), 0);
  EXPECT_EQ(kernel.at("level"), "too few launches");
  // What was inferred does not fit on the device.
  kernel = Audited("--device-memory 8MiB", "over", "add_arrays");
  EXPECT_EQ(kernel.at("over_budget").at("launches"), 1);
  EXPECT_EQ(kernel.at("evidence_launches"), 0);
  EXPECT_EQ(kernel.at("most_host_sectors"), 0);
}

TEST(AuditTrustTest, CodeThatStaysInUploadedArraysIsProvenThere) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/program.trust", stats = folder.path() + "/stats.json";
  const Output audit = AuditUnchanged("--trust '" + path + "'", "arrays");
  ASSERT_EQ(audit.code, 0) << audit.err;
  EXPECT_THAT(audit.out, AllOf(HasSubstr("late or never inferred: 0 of "), HasSubstr(" arrays\n"),
                               HasSubstr(" beyond arrays\n")));
  const std::string text = ReadText(path);
  EXPECT_THAT(text, AllOf(ContainsRegex("\nkernel [0-9]+ 6 0 [0-9a-f-]+ add_constant\n"),
                          ContainsRegex("\narrays [0-9]+ 6 0 [0-9a-f-]+ add_constant\n"),
                          ContainsRegex("\narrays 0 0 [0-9]{5,} [0-9a-f-]+ fill\n")));
  const Output run =
      RunBinary(kEnvironment, "run --simulate --device-memory 12MiB --chunk 2MiB --stats='" +
                                  stats + "' --trust '" + path + "'" + kUnchanged + "arrays");
  EXPECT_EQ(run.code, 0) << run.err;
  const Json json = Json::parse(ReadText(stats), nullptr, false);
  EXPECT_EQ(json.at("kernels").size(), 2u);
  for (const Json& k : json.at("kernels")) {
    EXPECT_EQ(k.at("trust"), k.at("name") == "add_constant" ? "arrays" : "plausible");
  }
}

// The turns that ask about arrays are evidence all the same.
TEST(AuditTrustTest, ArraysOfOneChunkShowWhatAllocationsDo) {
  const TemporaryFolder folder;
  const Output audit =
      AuditUnchanged("--format json --trust '" + folder.path() + "/program.trust'", "packed");
  ASSERT_EQ(audit.code, 0) << audit.err;
  const Json report = Json::parse(audit.out.substr(audit.out.find('{')), nullptr, false);
  ASSERT_EQ(report.at("kernels").size(), 1u) << audit.out;
  const Json kernel = report.at("kernels")[0];
  EXPECT_EQ(kernel.at("asked_about"), "allocations");
  EXPECT_EQ(kernel.at("launches"), 480);
  EXPECT_EQ(kernel.at("level"), "proven");
}

TEST(AuditTrustTest, ALinkedProgramIsLeftToItsOwnRuntimes) {
  const Output audit =
      RunBinary(kEnvironment, "audit --simulate --format json -- '" VRAMSPAN_AUDITED "' visible");
  ASSERT_EQ(audit.code, 0) << audit.err;
  const Json report = Json::parse(audit.out.substr(audit.out.find('{')), nullptr, false);
  EXPECT_EQ(report.at("runtimes"), 1) << audit.out;
  EXPECT_EQ(report.at("total").at("missed_bytes"), 0) << audit.out;
  EXPECT_EQ(report.at("total").at("counted"), 16);
  EXPECT_THAT(audit.err, IsEmpty()) << "no other runtime was tried";
  // The preload has no memory of its own there, and gives the program's none.
  const Output run =
      RunBinary(kEnvironment,
                "run --simulate --device-memory 16MiB --stats -- '" VRAMSPAN_AUDITED "' visible");
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, AllOf(HasSubstr("(device budget 64.0 MiB)"),
                             HasSubstr("off in this process: the program has runtimes of its own"),
                             Not(HasSubstr("budget 16.0 MiB")), Not(HasSubstr("its own VMM"))));
}

TEST(AuditTrustTest, GraphsSayNothingOfTheirKernels) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/program.trust";
  const Output audit = AuditUnchanged("--trust '" + path + "'", "graph");
  ASSERT_EQ(audit.code, 0) << audit.err;
  EXPECT_THAT(audit.out, HasSubstr("\n2 launches of graphs say nothing of the kernels in them"));
  EXPECT_THAT(ReadText(path), Not(HasSubstr("(graph")));
}

TEST(AuditTrustTest, NoFileIsReplacedUnlessForced) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/program.trust";
  std::ofstream(path) << "mine";
  const Output refused = AuditUnchanged("--trust '" + path + "'", "visible");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr(path + ": the file exists; --force replaces it"));
  EXPECT_THAT(refused.out, IsEmpty()) << "before the program runs";
  EXPECT_EQ(ReadText(path), "mine");
  EXPECT_EQ(AuditUnchanged("--force --trust '" + path + "'", "visible").code, 0);
  EXPECT_THAT(ReadText(path), StartsWith("vramspan-trust 1\n"));
}

TEST(AuditTrustTest, NoFileIsLeftOfAnAuditThatFailed) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/program.trust";
  EXPECT_EQ(RunBinary(std::string(kEnvironment) + "SIMCUDA_COUNTERS=0",
                      "audit --simulate --trust '" + path + "'" + kUnchanged + "visible")
                .code,
            1);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(AuditTrustTest, AFileThatIsWrongStopsTheRunBeforeTheProgramStarts) {
  const TemporaryFolder folder;
  const std::string good = folder.path() + "/good", bad = folder.path() + "/bad";
  std::ofstream(good) << "vramspan-trust 1\n";
  std::ofstream(bad) << "vramspan-trust 1\nkernel 1 2 x - fill\n";
  // Programs of the system, which under AddressSanitizer need its options as ours do.
  const std::string plain = kEnvironment;
  const Output run = RunBinary(plain, "run --trust '" + good + ":" + bad + "' -- echo started");
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_THAT(run.err, HasSubstr("--trust: " + bad + ", line 2: "));
  EXPECT_EQ(RunBinary(plain, "run --trust '" + folder.path() + "/none' -- echo started").code, 1);
  EXPECT_EQ(RunBinary(plain + "VRAMSPAN_TRUST='" + bad + "'", "run -- echo started").code, 1);
  EXPECT_EQ(RunBinary(plain, "run --trust '' -- echo started").code, 2);
  EXPECT_EQ(RunBinary(plain, "run --trust '" + good + "' -- echo started").out, "started\n");
  // Beside what the environment names, from the root on.
  EXPECT_THAT(RunBinary("-C '" + folder.path() + "' " + plain + "VRAMSPAN_TRUST='" + good + "'",
                        "run --trust good -- env")
                  .out,
              HasSubstr("VRAMSPAN_TRUST=" + good + ":" + good + "\n"));
}

TEST(ReadReportTest, CodesOfOneNameAreRowsOfTheirOwn) {
  const TemporaryFolder folder;
  const auto write = [&](const char* name, std::vector<AuditRow> rows) {
    const Status written = WriteAudit(folder.path() + "/" + name,
                                      {.complete = true, .driver = "d", .rows = std::move(rows)});
    ASSERT_TRUE(written.ok()) << written;
  };
  write("1.audit",
        {{.name = "k", .launches = 5, .evidence = 5, .sets = 3, .sectors = {7}, .module = 1},
         {.name = "k", .launches = 9, .evidence = 9, .sets = 4, .sectors = {99}}});
  write("2.audit",
        {{.name = "k", .launches = 4, .evidence = 3, .sets = 2, .sectors = {9}, .module = 1},
         {.name = "s",
          .launches = 7,
          .evidence = 7,
          .sets = 1,
          .module = 2,
          .given = {{0xaa, 4}, {0xbb, 3}}}});
  write(
      "3.audit",
      {{.name = "s", .launches = 5, .evidence = 5, .sets = 1, .module = 2, .given = {{0xaa, 5}}}});
  const auto report = audit::ReadReport(folder.path());
  ASSERT_TRUE(report.ok()) << report.status();
  const auto file = audit::MakeTrustFile(*report, "x");
  ASSERT_TRUE(file.ok()) << file.status();
  // The sets of two runs may be the same.
  EXPECT_THAT(file->text, EndsWith("\nkernel 9 4 99 - k\nkernel 8 3 9 0000000000000001 k\n"
                                   "kernel 12 1 0 0000000000000002 s\n"
                                   "given-kernel 9 1 0 00000000000000aa 0000000000000002 s\n"));
}

// Of one kernel.
audit::Report ReportOf(AuditRow row) {
  audit::Report report;
  report.rows.push_back(std::move(row));
  return report;
}

TEST(MakeTrustFileTest, NamesWhatLacksForALevel) {
  const auto level = [](AuditRow row) { return std::string(audit::LevelText(row)); };
  EXPECT_EQ(level({.evidence = 8, .sets = 3, .sectors = {63}, .module = 1}), "proven");
  EXPECT_EQ(level({.evidence = 8, .sets = 3, .sectors = {63}}), "plausible");
  EXPECT_EQ(level({.evidence = 7, .sets = 3, .module = 1}), "too few launches");
  EXPECT_EQ(level({.evidence = 8, .sets = 2, .module = 1}), "too few launches");
  EXPECT_EQ(level({.evidence = 8, .sets = 3, .sectors = {64}, .module = 1}), "missed");
  // One doubtful launch of few may be anything, one of more is a disturbance, two are not.
  EXPECT_EQ(level({.evidence = 15, .sets = 3, .sectors = {9, 1, 200}, .module = 1}),
            "too few launches");
  EXPECT_EQ(level({.evidence = 15, .sets = 3, .sectors = {9, 2, 200}, .module = 1}), "missed");
  EXPECT_EQ(level({.evidence = 16, .sets = 3, .sectors = {9, 1, 200}, .module = 1}), "proven");
  EXPECT_EQ(level({.evidence = 16, .sets = 3, .sectors = {9, 2, 200}, .module = 1}), "missed");
  EXPECT_EQ(level({.evidence = 32, .sets = 3, .sectors = {9, 2, 200}, .module = 1}), "proven");
  // But one of few that others contradict, which were given the same.
  EXPECT_EQ(level({.evidence = 9, .sets = 3, .sectors = {9, 1, 200, 1}, .module = 1}), "proven");
  EXPECT_EQ(level({.evidence = 9, .sets = 3, .sectors = {9, 2, 200, 2}, .module = 1}), "missed");
  EXPECT_EQ(level({.kind = AuditRow::Kind::kGraph, .evidence = 8, .sets = 3}), "-");
  EXPECT_EQ(level({.evidence = 9, .sets = 2, .module = 1, .given = {{5, 8}, {6, 1}}}),
            "proven, if given this");
  EXPECT_EQ(level({.evidence = 9, .sets = 2, .module = 1, .given = {{5, 7}, {6, 2}}}),
            "too few launches");
  EXPECT_EQ(level({.evidence = 8, .sets = 2, .given = {{5, 8}}}), "too few launches");
  EXPECT_EQ(
      level({.evidence = 8, .sets = 2, .sectors = {9, 1, 200}, .module = 1, .given = {{5, 8}}}),
      "too few launches");
  EXPECT_EQ(level({.evidence = 8, .sets = 2, .sectors = {64}, .module = 1, .given = {{5, 8}}}),
            "missed");
  constexpr auto kArrays = AuditRow::Kind::kArrays;
  EXPECT_EQ(level({.kind = kArrays, .evidence = 8, .sets = 1, .module = 1, .given = {{5, 8}}}),
            "arrays, if given this");
  EXPECT_EQ(level({.kind = kArrays, .evidence = 8, .sets = 3, .module = 1}), "arrays");
  EXPECT_EQ(level({.kind = kArrays, .evidence = 8, .sets = 3}), "-");
  EXPECT_EQ(level({.kind = kArrays, .evidence = 8, .sets = 2, .module = 1}), "too few launches");
  EXPECT_EQ(level({.kind = kArrays, .sectors = {64}, .module = 1}), "beyond arrays");
}

TEST(MakeTrustFileTest, SaysAsMuchAsTheLevelAndNoMore) {
  const auto file = audit::MakeTrustFile(
      ReportOf(
          {.name = "k", .launches = 9, .evidence = 8, .sets = 3, .sectors = {5}, .module = 0xAB}),
      "two\nlines");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->codes, 1u);
  EXPECT_THAT(file->text, EndsWith("\nkernel 8 3 5 00000000000000ab k\n"));
  TrustList list;
  ASSERT_TRUE(list.Add("file", file->text).ok());
  EXPECT_EQ(list.Of("k", 0xAB)->trust, Trust::kProven);
}

TEST(MakeTrustFileTest, SaysWhatLaunchesWereGivenWhereSetsAreMissing) {
  AuditRow row{.name = "k", .evidence = 19, .sets = 2, .sectors = {5}, .module = 0xAB};
  row.given = {{0x11, 8}, {0x22, 7}, {0x33, 9}};
  const auto file = audit::MakeTrustFile(ReportOf(row), "x");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->text, EndsWith("\nkernel 19 2 5 00000000000000ab k\n"
                                   "given-kernel 8 2 5 0000000000000011 00000000000000ab k\n"
                                   "given-kernel 9 2 5 0000000000000033 00000000000000ab k\n"));
  row.sets = 3;
  EXPECT_THAT(audit::MakeTrustFile(ReportOf(row), "x")->text,
              EndsWith("\nkernel 19 3 5 00000000000000ab k\n"))
      << "all its launches are proven";
}

// A launch without evidence would make the name plausible.
TEST(MakeTrustFileTest, WhatHasShownNothingHasNoLine) {
  EXPECT_FALSE(audit::MakeTrustFile(ReportOf({.name = "k", .launches = 9}), "x").ok());
  EXPECT_FALSE(
      audit::MakeTrustFile(ReportOf({.name = "(a kernel without a name)", .evidence = 9}), "x")
          .ok());
  EXPECT_FALSE(
      audit::MakeTrustFile(ReportOf({.name = std::string(5000, 'k'), .evidence = 9}), "x").ok());
  const auto missed =
      audit::MakeTrustFile(ReportOf({.name = "k", .launches = 9, .sectors = {64}}), "x");
  ASSERT_TRUE(missed.ok());
  EXPECT_THAT(missed->text, EndsWith("\nkernel 0 0 64 - k\n"));
  // Nor does one that can be told neither way.
  AuditRow row{.name = "k", .evidence = 15, .sets = 3, .sectors = {9, 1, 200}};
  EXPECT_FALSE(audit::MakeTrustFile(ReportOf(row), "x").ok());
  row.evidence = 16;
  EXPECT_THAT(audit::MakeTrustFile(ReportOf(row), "x")->text, EndsWith("\nkernel 16 3 9 - k\n"));
  row.sectors.doubtful = 2;
  EXPECT_THAT(audit::MakeTrustFile(ReportOf(row), "x")->text, EndsWith("\nkernel 16 3 200 - k\n"));
}

}  // namespace
}  // namespace vramspan
