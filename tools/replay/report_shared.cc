#include "tools/replay/report_shared.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tools/replay/json_field.h"

namespace vramspan::replay {
namespace {

using nlohmann::json;

constexpr const char* kSharedTool = "vramspan replay --broker";
// What real files stay far below.
constexpr size_t kMostSharedRuns = 100;
constexpr size_t kMostTenants = 200;
constexpr size_t kMostSamples = 1 << 20;
constexpr size_t kMostTurns = 1 << 16;
// A strip has no room for more.
constexpr size_t kShareBins = 200;
constexpr size_t kShownTurns = 2'000;
constexpr size_t kTenantName = 300;
constexpr double kMostBytes = 1ull << 60;
constexpr double kMostMs = 1e15;
constexpr double kMostCount = 1e18;

double MsIn(const JsonField& of, const char* key) { return of.At(key).Number(0, kMostMs); }

struct ShareSampleIn {
  double ms = 0;
  std::vector<double> bytes;  // By tenant.
};

std::vector<ShareSampleIn> ReadSamples(const JsonField& list, size_t tenants) {
  std::vector<ShareSampleIn> samples;
  double before = 0;
  for (const JsonField& item : list.Items(kMostSamples)) {
    ShareSampleIn sample{.ms = MsIn(item, "ms"), .bytes = {}};
    if (sample.ms < before) item.At("ms").Fail("it is before the one above");
    before = sample.ms;
    const JsonField bytes = item.At("bytes");
    for (const JsonField& one : bytes.Items(kMostTenants)) {
      sample.bytes.push_back(one.Number(0, kMostBytes));
    }
    if (sample.bytes.size() != tenants) {
      bytes.Fail(absl::StrCat("it has ", sample.bytes.size(), " for ", tenants, " programs"));
      sample.bytes.resize(tenants);
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

// Of `whole`, what the tenant had on average in each of kShareBins parts of the time.
std::vector<double> Strip(const std::vector<ShareSampleIn>& samples, size_t tenant, double end,
                          double whole) {
  std::vector<double> bins(kShareBins, 0);
  const double bin = end / kShareBins;
  if (!std::isnormal(bin) || whole <= 0) return bins;
  for (size_t i = 0; i < samples.size(); ++i) {
    const double from = std::min(samples[i].ms, end);
    const double to = i + 1 < samples.size() ? std::min(samples[i + 1].ms, end) : end;
    const double part = std::min(1.0, samples[i].bytes[tenant] / whole);
    for (auto b = static_cast<size_t>(from / bin); b < kShareBins; ++b) {
      const double low = static_cast<double>(b) * bin;
      if (low >= to) break;
      bins[b] += part * std::max(0.0, std::min(to, low + bin) - std::max(from, low)) / bin;
    }
  }
  // A strip shows two digits.
  for (double& part : bins) part = std::round(std::min(part, 1.0) * 1e3) / 1e3;
  return bins;
}

json ReadReportTenant(const JsonField& field) {
  const auto count = [&](const char* key) { return field.At(key).Number(0, kMostCount); };
  return {{"name", field.At("name").Text(kTenantName)},
          {"weight", count("weight")},
          {"start_ms", MsIn(field, "start_ms")},
          {"end_ms", MsIn(field, "end_ms")},
          {"alone_ms", MsIn(field, "alone_ms")},
          {"in_share_ms", MsIn(field, "in_share_ms")},
          {"together_ms", MsIn(field, "together_ms")},
          {"slowdown", field.At("slowdown").Number(0, kMostMs)},
          {"mean_share", field.At("mean_share_bytes").Number(0, kMostBytes)},
          {"gpu_turns", count("gpu_turns")},
          {"gpu_turn_ms", MsIn(field, "gpu_turn_ms")}};
}

json ReadTurns(const JsonField& list, size_t tenants) {
  json turns = json::array();
  for (const JsonField& item : list.Items(kMostTurns)) {
    const double tenant = item.At("tenant").Number(0, static_cast<double>(tenants) - 1);
    const double from = MsIn(item, "ms"), to = MsIn(item, "to_ms");
    if (to < from) item.At("to_ms").Fail("it is before its begin");
    if (std::floor(tenant) != tenant) item.At("tenant").Fail("it is no whole number");
    if (turns.size() < kShownTurns) turns.push_back({tenant, from, to});
  }
  return turns;
}

json ReadSharedRun(const JsonField& field) {
  json tenants = json::array();
  const JsonField list = field.At("tenants");
  for (const JsonField& item : list.Items(kMostTenants)) tenants.push_back(ReadReportTenant(item));
  if (tenants.empty()) list.Fail("it is empty, so there is nothing to report");
  const double end = MsIn(field, "makespan_ms");
  const double memory = field.At("device_memory_bytes").Number(0, kMostBytes);
  const std::vector<ShareSampleIn> samples = ReadSamples(field.At("shares"), tenants.size());
  for (size_t i = 0; i < tenants.size(); ++i) {
    tenants[i]["share"] = Strip(samples, i, end, memory);
  }
  json turns = ReadTurns(field.At("turns"), tenants.size());
  return {{"memory", memory},
          {"makespan_ms", end},
          {"one_by_one_ms", MsIn(field, "one_by_one_ms")},
          {"fairness", field.At("fairness_jain").Number(0, 1 + 1e-6)},
          {"bins", kShareBins},
          {"bin_ms", end / kShareBins},
          {"tenants", std::move(tenants)},
          {"turns", std::move(turns)}};
}

}  // namespace

bool IsSharedReplay(const json& replay) {
  if (!replay.is_object()) return false;
  const auto tool = replay.find("tool");
  return tool != replay.end() && tool->is_string() && *tool == kSharedTool;
}

StatusOr<SharedReport> ReadSharedReport(const json& replay) {
  Status status;
  SharedReport report{.runs = json::array(), .prices = {}, .title = {}};
  const JsonField document(replay, "", &status);
  const double version = document.At("version").Number(1, kMostCount);
  if (version != 1) {
    document.At("version").Fail(
        absl::StrCat(version, " is newer than this vramspan, which reads version 1"));
  }
  VS_RETURN_IF_ERROR(status);
  for (const JsonField& item : document.At("runs").Items(kMostSharedRuns)) {
    report.runs.push_back(ReadSharedRun(item));
    VS_RETURN_IF_ERROR(status);
  }
  if (report.runs.empty()) document.At("runs").Fail("it is empty, so there is nothing to report");
  if (const auto prices = document.Find("prices")) report.prices = prices->Text(kTenantName);
  VS_RETURN_IF_ERROR(status);
  std::vector<std::string> names;
  for (const json& tenant : report.runs.front()["tenants"]) names.push_back(tenant["name"]);
  const size_t count = names.size();
  if (count > 3) names.resize(2);
  report.title = absl::StrCat(absl::StrJoin(names, ", "),
                              count > 3 ? absl::StrCat(" and ", count - 2, " more") : "");
  return report;
}

}  // namespace vramspan::replay
