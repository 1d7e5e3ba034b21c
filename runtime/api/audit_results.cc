#include "runtime/api/audit_results.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "runtime/base/clean_text.h"
#include "runtime/base/quiet_write.h"

namespace vramspan {
namespace {

constexpr std::string_view kGiven = "given ";
constexpr std::string_view kHead = "vramspan-audit 5";

// One line of text, whatever it holds.
std::string OneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  return text;
}

template <typename Row>
auto Fields(Row& r) {
  return std::to_array({&r.launches, &r.counted, &r.inferred, &r.touched, &r.read, &r.written,
                        &r.over, &r.over_host, &r.remaining, &r.evidence, &r.sets, &r.sectors.most,
                        &r.sectors.doubtful, &r.sectors.doubtful_most, &r.sectors.contradicted,
                        &r.module});
}

constexpr std::array<std::pair<AuditRow::Kind, std::string_view>, 4> kKinds = {
    {{AuditRow::Kind::kKernel, "kernel "},
     {AuditRow::Kind::kArrays, "arrays "},
     {AuditRow::Kind::kGraph, "graph "},
     {AuditRow::Kind::kOthers, "others "}}};

bool ParseGiven(std::string_view line, std::vector<AuditRow>* rows) {
  const std::pair<std::string_view, std::string_view> words =
      absl::StrSplit(line, absl::MaxSplits(' ', 1));
  GivenLaunches g;
  if (rows->empty() || rows->back().given.size() == ArgumentSets::kMostGiven ||
      !absl::SimpleAtoi(words.first, &g.given) || !absl::SimpleAtoi(words.second, &g.launches)) {
    return false;
  }
  rows->back().given.push_back(g);
  return true;
}

bool ParseRow(std::string_view line, AuditRow* row) {
  const auto kind = std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& k) {
    return absl::ConsumePrefix(&line, k.second);
  });
  if (kind == kKinds.end()) return false;
  row->kind = kind->first;
  for (uint64_t* field : Fields(*row)) {
    const size_t space = line.find(' ');
    if (space == std::string_view::npos || !absl::SimpleAtoi(line.substr(0, space), field)) {
      return false;
    }
    line.remove_prefix(space + 1);
  }
  row->name = line;
  return !line.empty();
}

}  // namespace

std::string AuditText(const AuditResults& results) {
  std::string text = absl::StrCat(kHead, "\n");
  if (results.complete) absl::StrAppend(&text, "complete\n");
  if (!results.error.empty()) absl::StrAppend(&text, "error ", OneLine(results.error), "\n");
  absl::StrAppend(&text, "driver ", OneLine(results.driver), "\n");
  for (const AuditRow& row : results.rows) {
    if (row.launches == 0) continue;
    absl::StrAppend(&text, kKinds[static_cast<size_t>(row.kind)].second);
    for (const uint64_t* field : Fields(row)) absl::StrAppend(&text, *field, " ");
    absl::StrAppend(&text, OneLine(row.name), "\n");
    for (const GivenLaunches& g : row.given) {
      absl::StrAppend(&text, kGiven, g.given, " ", g.launches, "\n");
    }
  }
  return text;
}

StatusOr<AuditResults> ParseAudit(std::string_view text) {
  AuditResults results;
  const std::vector<std::string_view> lines = absl::StrSplit(text, '\n');
  if (lines.front() != kHead) {
    return absl::InvalidArgumentError(
        "the file does not hold an audit's results, or another version of vramspan wrote it");
  }
  for (size_t i = 1; i < lines.size(); ++i) {
    std::string_view line = lines[i];
    if (line.empty()) continue;
    if (line == "complete") {
      results.complete = true;
    } else if (absl::ConsumePrefix(&line, "error ")) {
      results.error = line;
    } else if (absl::ConsumePrefix(&line, "driver ")) {
      results.driver = line;
    } else if (absl::ConsumePrefix(&line, kGiven) ? !ParseGiven(line, &results.rows)
                                                  : !ParseRow(line, &results.rows.emplace_back())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "line ", i + 1, " of the audit's results is not understood: ", Repeated(lines[i])));
    }
  }
  return results;
}

Status WriteAudit(const std::string& path, const AuditResults& results) {
  const std::string part = path + ".part";
  QuietWrites quiet;  // At the program's end it may be its own thread.
  std::ofstream file(part, std::ios::trunc);
  file << AuditText(results);
  file.close();
  if (!file) quiet.Failed(EFBIG);
  if (!file || std::rename(part.c_str(), path.c_str()) != 0) {
    return absl::UnavailableError(absl::StrCat("the audit's results cannot be written to ", path,
                                               ": ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace vramspan
