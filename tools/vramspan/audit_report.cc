#include "tools/vramspan/audit_report.h"

#include <absl/algorithm/container.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/strip.h>
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>
#include <tuple>
#include <utility>

#include "runtime/base/clean_text.h"
#include "tools/vramspan/amount_text.h"
#include "tools/vramspan/audit_trust.h"

namespace vramspan::audit {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kSchemaVersion = 5;
constexpr size_t kNameWidth = 40;

uint64_t Missed(const AuditRow& row) { return row.read + row.written; }

double Percent(const AuditRow& row) {
  return row.touched == 0
             ? 0
             : 100 * static_cast<double>(Missed(row)) / static_cast<double>(row.touched);
}

void Add(const AuditRow& from, AuditRow* to) {
  to->launches += from.launches;
  to->counted += from.counted;
  to->inferred += from.inferred;
  to->touched += from.touched;
  to->read += from.read;
  to->written += from.written;
  to->over += from.over;
  to->over_host += from.over_host;
  to->remaining = std::max(to->remaining, from.remaining);
  to->evidence += from.evidence;
  to->sets = std::max(to->sets, from.sets);
  for (const GivenLaunches& g : from.given) {
    const auto known = absl::c_find_if(
        to->given, [&g](const GivenLaunches& other) { return other.given == g.given; });
    known != to->given.end() ? void(known->launches += g.launches) : to->given.push_back(g);
  }
  to->sectors.most = std::max(to->sectors.most, from.sectors.most);
  to->sectors.doubtful += from.sectors.doubtful;
  to->sectors.contradicted += from.sectors.contradicted;
  to->sectors.doubtful_most = std::max(to->sectors.doubtful_most, from.sectors.doubtful_most);
}

std::string Demangled(const std::string& name) {
  if (!absl::StartsWith(name, "_Z")) return name;
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return result;
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void Notes(const AuditRow& row, std::string* out) {
  if (row.over != 0) {
    absl::StrAppendFormat(out,
                          "    the memory of %d of them does not fit on the device; %s that they "
                          "took from the host does not count as missed\n",
                          row.over, SizeText(row.over_host));
  }
  if (row.counted != row.launches) {
    absl::StrAppendFormat(out, "    %d of them were not counted\n", row.launches - row.counted);
  }
  if (row.remaining != 0) {
    absl::StrAppendFormat(
        out, "    up to %s that was not inferred stayed on the device, where misses do not show\n",
        SizeText(row.remaining));
  }
}

size_t Shown(const Report& report, size_t top) {
  return top == 0 ? report.rows.size() : std::min(top, report.rows.size());
}

// At most so many are told apart.
std::string SetsText(const AuditRow& row) {
  return absl::StrCat(row.sets, row.sets == AuditRow::kMostSets ? "+" : "");
}

OrderedJson RowJson(const AuditRow& row) {
  return {{"launches", row.launches},
          {"counted", row.counted},
          {"inferred_bytes", row.inferred},
          {"touched_bytes", row.touched},
          {"host_read_bytes", row.read},
          {"host_written_bytes", row.written},
          {"missed_bytes", Missed(row)},
          {"missed_percent", Percent(row)},
          {"over_budget", {{"launches", row.over}, {"host_bytes", row.over_host}}},
          {"remaining_on_device_bytes", row.remaining}};
}

// What concerns trust, which a sum of several kernels has none of.
OrderedJson KernelJson(const AuditRow& row) {
  OrderedJson kernel = {
      {"name", row.name},
      {"readable_name", Demangled(row.name)},
      {"asked_about", row.kind == AuditRow::Kind::kArrays ? "arrays" : "allocations"}};
  kernel.update(RowJson(row));
  kernel.update({{"evidence_launches", row.evidence},
                 {"argument_sets", row.sets},
                 {"kinds_of_launches_proven", ProvenKinds(row)},
                 {"most_host_sectors", MostSectors(row)},
                 {"doubtful_launches", row.sectors.doubtful},
                 {"module", row.module == 0 ? "-" : absl::StrFormat("%016x", row.module)},
                 {"level", LevelText(row)}});
  return kernel;
}

}  // namespace

std::string ShortName(const std::string& name, size_t most) {
  std::string text = Demangled(name);
  if (absl::StartsWith(text, "void ")) text.erase(0, 5);
  std::string shortened;
  int depth = 0;
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  for (size_t i = 0; i < text.size(); ++i) {
    if (depth == 0 && text.compare(i, kAnonymous.size(), kAnonymous) == 0) {
      i += kAnonymous.size() + 1;  // And its colons.
      continue;
    }
    // The parameters of a demangled name; a name of our own is in parentheses whole.
    if (depth == 0 && text[i] == '(' && i != 0) break;
    if (text[i] == '<' && depth++ == 0) shortened += "<>";
    if (depth == 0) shortened += text[i];
    if (text[i] == '>') depth = std::max(depth - 1, 0);
  }
  if (shortened.empty()) shortened = text;
  // Libraries' namespaces say little and take much.
  const size_t colons = shortened.rfind("::");
  if (colons != std::string::npos) shortened.erase(0, colons + 2);
  if (shortened.size() > most) shortened = shortened.substr(0, most - 3) + "...";
  return CleanText(shortened);
}

StatusOr<Report> ReadReport(const std::string& folder) {
  Report report;
  std::map<std::tuple<std::string, uint64_t, AuditRow::Kind>, AuditRow> rows;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".audit") continue;
    VS_ASSIGN_OR_RETURN(const AuditResults results, ParseAudit(ReadFile(entry.path())));
    ++report.runtimes;
    if (!results.complete) ++report.incomplete;
    if (!results.error.empty() && std::find(report.errors.begin(), report.errors.end(),
                                            results.error) == report.errors.end()) {
      report.errors.push_back(results.error);
    }
    if (report.driver.empty()) report.driver = results.driver;
    for (const AuditRow& row : results.rows) {
      AuditRow& sum = rows[{row.name, row.module, row.kind}];
      sum.kind = row.kind;
      sum.name = row.name;
      sum.module = row.module;
      Add(row, &sum);
      // What lies beyond arrays was inferred all the same: they are asked about beside that.
      if (row.kind != AuditRow::Kind::kArrays) Add(row, &report.total);
    }
  }
  if (error) {
    return absl::UnavailableError(absl::StrCat("cannot read ", folder, ": ", error.message()));
  }
  for (auto& [code, row] : rows) report.rows.push_back(std::move(row));
  std::stable_sort(report.rows.begin(), report.rows.end(),
                   [](const AuditRow& a, const AuditRow& b) {
                     return Missed(a) != Missed(b) ? Missed(a) > Missed(b) : a.touched > b.touched;
                   });
  return report;
}

std::string ToTable(const Report& report, size_t top) {
  std::string out;
  absl::StrAppendFormat(&out, "%-*s %9s %11s %11s %11s %11s %9s %4s %7s %s\n", kNameWidth, "kernel",
                        "launches", "inferred", "touched", "host reads", "host writes", "missed",
                        "sets", "most", "level");
  const size_t shown = Shown(report, top);
  for (size_t i = 0; i < shown; ++i) {
    const AuditRow& row = report.rows[i];
    absl::StrAppendFormat(&out, "%-*s %9d %11s %11s %11s %11s %7.3f %% %4s %7d %s\n", kNameWidth,
                          ShortName(row.name, kNameWidth), row.launches, SizeText(row.inferred),
                          SizeText(row.touched), SizeText(row.read), SizeText(row.written),
                          Percent(row), SetsText(row), MostSectors(row), LevelText(row));
    Notes(row, &out);
  }
  if (shown < report.rows.size()) {
    absl::StrAppendFormat(&out, "%d more kernels are in the total\n", report.rows.size() - shown);
  }
  if (report.rows.empty()) {
    absl::StrAppend(&out,
                    "no launch of a kernel by itself was counted, so nothing is known of it\n");
  }
  absl::StrAppendFormat(&out, "late or never inferred: %d of %d bytes (%.4f %%)\n",
                        Missed(report.total), report.total.touched, Percent(report.total));
  return out;
}

std::string ToJson(const Report& report, size_t top) {
  OrderedJson kernels = OrderedJson::array();
  const size_t shown = Shown(report, top);
  for (size_t i = 0; i < shown; ++i) {
    kernels.push_back(KernelJson(report.rows[i]));
  }
  const OrderedJson json = {{"schema", "vramspan.audit"},
                            {"schema_version", kSchemaVersion},
                            {"vramspan_version", VRAMSPAN_VERSION_TEXT},
                            {"program", report.program},
                            {"exit_code", report.exit_code},
                            {"runtimes", report.runtimes},
                            {"incomplete_runtimes", report.incomplete},
                            {"driver", report.driver},
                            {"total", RowJson(report.total)},
                            {"kernels", std::move(kernels)},
                            {"kernels_left_out", report.rows.size() - shown}};
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace vramspan::audit
