#include "tools/replay/report_data.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "runtime/base/clean_text.h"
#include "tools/replay/json_field.h"
#include "tools/replay/report_text.h"

namespace vramspan::replay {
namespace {

// What real files stay far below; a page of more would help nobody.
constexpr size_t kMostCases = 100;
constexpr size_t kMostRuns = 5'000;
constexpr size_t kMostCurves = 2'000;
constexpr size_t kMostPoints = 1 << 20;
constexpr size_t kMostBins = 1 << 16;
constexpr size_t kMostAllocations = 1'000;
constexpr size_t kMostKernels = 1'000;
constexpr size_t kMostProblems = 10'000;
constexpr size_t kMostPrices = 500;
constexpr size_t kName = 300;
constexpr size_t kPolicy = 40;
constexpr size_t kSentence = 1'000;
constexpr double kBytes = 1ull << 60;
constexpr double kMs = 1e15;
constexpr double kCount = 1e18;

double Bytes(const JsonField& of, const char* key) { return of.At(key).Number(0, kBytes); }
double Ms(const JsonField& of, const char* key) { return of.At(key).Number(0, kMs); }
double Count(const JsonField& of, const char* key) { return of.At(key).Number(0, kCount); }
std::string Name(const JsonField& of, const char* key) { return of.At(key).Text(kName); }

std::vector<double> Numbers(const JsonField& list, size_t count, double high) {
  std::vector<double> numbers;
  for (const JsonField& item : list.Items(kMostBins)) numbers.push_back(item.Number(0, high));
  if (numbers.size() != count) {
    list.Fail(absl::StrCat("it is a list of ", numbers.size(), " for ", count, " bins"));
    numbers.resize(count);
  }
  return numbers;
}

ReportKernel ReadKernel(const JsonField& field) {
  return {.name = Name(field, "name"),
          .why = field.At("why").Text(kSentence),
          .launches = Count(field, "launches"),
          .resident_ms = Ms(field, "resident_ms"),
          .predicted_ms = Ms(field, "predicted_ms"),
          .stall_ms = Ms(field, "stall_ms"),
          .bytes_in_place = Bytes(field, "bytes_in_place"),
          .fetches = Count(field, "fetches")};
}

ReportTimeline ReadTimeline(const JsonField& field) {
  ReportTimeline timeline;
  timeline.bins = static_cast<size_t>(field.At("bins").Number(1, kMostBins));
  timeline.bin_ms = Ms(field, "bin_ms");
  for (const JsonField& item : field.At("allocations").Items(kMostAllocations)) {
    timeline.allocations.push_back(
        {.name = Name(item, "name"),
         .bytes = Bytes(item, "bytes"),
         .resident = Numbers(item.At("resident"), timeline.bins, 1.0 + 1e-6)});
  }
  timeline.device_bytes = Numbers(field.At("device_bytes"), timeline.bins, kBytes);
  timeline.fetches = Numbers(field.At("fetches"), timeline.bins, kCount);
  timeline.stall_ms = Numbers(field.At("stall_ms"), timeline.bins, kMs);
  return timeline;
}

double Slowdown(const JsonField& field, const ReportRun& run) {
  if (const auto given = field.Find("slowdown")) return given->Number(0, kMs);
  return run.resident_ms > 0 ? run.predicted_ms / run.resident_ms : 1;
}

ReportRun ReadRun(const JsonField& field) {
  ReportRun run;
  run.policy = field.At("policy").Text(kPolicy);
  run.budget = Bytes(field, "device_memory_bytes");
  if (const auto percent = field.Find("device_memory_percent")) {
    run.percent = percent->Number(0, kCount);
  }
  run.chunk = Bytes(field, "chunk_bytes");
  if (const auto overlap = field.Find("overlap")) run.overlap = overlap->Text(kPolicy);
  run.predicted_ms = Ms(field, "predicted_ms");
  run.resident_ms = Ms(field, "resident_ms");
  run.slowdown = Slowdown(field, run);
  if (const auto round = field.Find("round_ms")) run.round_ms = round->Number(0, kMs);
  if (const auto round = field.Find("resident_round_ms")) {
    run.resident_round_ms = round->Number(0, kMs);
  }
  run.stall_ms = Ms(field, "stall_ms");
  run.stall_copy_ms = Ms(field, "stall_copy_ms");
  run.stall_vmm_ms = Ms(field, "stall_vmm_ms");
  run.stall_drain_ms = Ms(field, "stall_drain_ms");
  run.fetches = Count(field, "fetches");
  if (const auto bound = field.Find("bound_fetches")) run.bound_fetches = bound->Number(0, kCount);
  if (const auto exact = field.Find("bound_exact")) run.bound_exact = exact->Flag();
  run.moves_in = Count(field, "moves_in");
  run.moves_out = Count(field, "moves_out");
  run.served_in_place = Count(field, "served_in_place");
  run.bytes_in = Bytes(field, "bytes_in");
  run.bytes_out = Bytes(field, "bytes_out");
  run.bytes_in_place = Bytes(field, "bytes_in_place");
  if (const auto kernels = field.Find("kernels")) {
    for (const JsonField& item : kernels->Items(kMostKernels)) {
      run.kernels.push_back(ReadKernel(item));
    }
  }
  if (const auto timeline = field.Find("timeline")) run.timeline = ReadTimeline(*timeline);
  return run;
}

ReportCurve ReadCurve(const JsonField& field) {
  ReportCurve curve{.policy = field.At("policy").Text(kPolicy),
                    .chunk = Bytes(field, "chunk_bytes"),
                    .accesses = Count(field, "accesses"),
                    .distinct_bytes = Bytes(field, "distinct_bytes")};
  if (const auto sampled = field.Find("sampled")) curve.sampled = sampled->Flag();
  if (const auto error = field.Find("error")) curve.error = error->Number(0, 1);
  for (const JsonField& item : field.At("points").Items(kMostPoints)) {
    curve.points.push_back({.memory = Bytes(item, "device_memory_bytes"),
                            .misses = Count(item, "misses"),
                            .miss_ratio = item.At("miss_ratio").Number(0, 1.0 + 1e-6)});
  }
  std::stable_sort(curve.points.begin(), curve.points.end(),
                   [](const auto& a, const auto& b) { return a.memory < b.memory; });
  return curve;
}

ReportTrace ReadTrace(const JsonField& field) {
  ReportTrace trace{.file = Name(field, "file"),
                    .program = field.At("program").Text(kSentence),
                    .device = Name(field, "device"),
                    .works = Count(field, "works"),
                    .kernels = Count(field, "kernels"),
                    .allocations = Count(field, "allocations"),
                    .peak_bytes = Bytes(field, "peak_bytes"),
                    .recorded_ms = Ms(field, "recorded_ms")};
  if (const auto works = field.Find("round_works")) trace.round_works = works->Number(0, kCount);
  if (const auto estimated = field.Find("estimated_times")) {
    trace.estimated_times = estimated->Flag();
  }
  if (const auto waits = field.Find("waits")) trace.waits = waits->Number(0, kCount);
  if (const auto waited = field.Find("waited_ms")) trace.waited_ms = waited->Number(0, kMs);
  const auto sentences = [&](const char* key, std::vector<std::string>* to) {
    const auto list = field.Find(key);
    if (!list) return;
    for (const JsonField& item : list->Items(kMostProblems)) to->push_back(item.Text(kSentence));
  };
  sentences("problems", &trace.problems);
  sentences("notes", &trace.notes);
  return trace;
}

std::string PriceText(const nlohmann::json& value) {
  if (value.is_string()) return CleanText(value.get_ref<const std::string&>(), kName);
  return CleanText(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), kName);
}

// All that an object in a list says, in one text: "device map 4.2, host map 3".
std::string PricesInWords(const nlohmann::json& object) {
  std::string text;
  const nlohmann::json flat = object.flatten();
  for (const auto& [key, value] : flat.items()) {
    if (key == "/bytes") continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ",
                    absl::StrReplaceAll(key.empty() ? key : key.substr(1), {{"/", " "}}), " ",
                    PriceText(value));
  }
  return CleanText(text, kName);
}

// "2 MiB" for what is about so many bytes, else which one of the list it is.
std::string PriceIndex(const nlohmann::json& object, size_t index) {
  const auto bytes = object.find("bytes");
  if (bytes == object.end() || !bytes->is_number_unsigned()) return absl::StrCat(index);
  return SizeWords(bytes->get<double>());
}

// Objects in objects are named with dots, and so is each object of a list.
void ReadPrices(const JsonField& field, const nlohmann::json& object, const std::string& prefix,
                ReportData* data) {
  for (const auto& [key, value] : object.items()) {
    if (data->prices.size() >= kMostPrices) {
      return field.Fail(absl::StrCat("it has more than ", kMostPrices, " values"));
    }
    const std::string name = CleanText(absl::StrCat(prefix, prefix.empty() ? "" : ".", key), kName);
    if (value.is_object()) {
      ReadPrices(field, value, name, data);
    } else if (value.is_array() && !value.empty() && value.front().is_object()) {
      for (size_t i = 0; i < value.size() && i < kMostPrices; ++i) {
        const bool is_object = value[i].is_object();
        data->prices.emplace_back(
            absl::StrCat(name, ".", is_object ? PriceIndex(value[i], i) : absl::StrCat(i)),
            is_object ? PricesInWords(value[i]) : PriceText(value[i]));
      }
    } else {
      data->prices.emplace_back(name, PriceText(value));
    }
  }
}

ReportCase& CaseOf(const JsonField& field, ReportData* data) {
  const std::string file = Name(field, "trace");
  for (ReportCase& one : data->cases) {
    if (one.trace.file == file) return one;
  }
  if (data->cases.size() >= kMostCases) {
    field.At("trace").Fail(absl::StrCat("it has more than ", kMostCases, " traces in one report"));
    return data->cases.back();
  }
  data->cases.emplace_back().trace.file = file;
  return data->cases.back();
}

void CheckKind(const JsonField& document) {
  if (!document.Find("tool")) {
    document.Fail("it has no 'tool', so `vramspan replay --format json` did not print this");
  }
  if (document.At("tool").Text(kName) != "vramspan replay") {
    document.At("tool").Fail(
        "it is not \"vramspan replay\", so `vramspan replay --format json` did not print this");
  }
  const double version = document.At("version").Number(1, kCount);
  if (version != 1) {
    document.At("version").Fail(
        absl::StrCat(version, " is newer than this vramspan, which reads version 1"));
  }
}

void ReadTraces(const JsonField& document, ReportData* data) {
  std::vector<ReportTrace> traces;
  if (const auto one = document.Find("trace")) traces.push_back(ReadTrace(*one));
  if (const auto several = document.Find("traces")) {
    for (const JsonField& item : several->Items(kMostRuns)) traces.push_back(ReadTrace(item));
  }
  for (ReportTrace& trace : traces) {
    const bool alone = traces.size() == 1 && data->cases.size() == 1;
    for (ReportCase& one : data->cases) {
      if (alone || one.trace.file == trace.file) one.trace = trace;
    }
  }
}

}  // namespace

StatusOr<ReportData> ReadReportData(const nlohmann::json& replay) {
  Status status;
  ReportData data;
  const JsonField document(replay, "", &status);
  CheckKind(document);
  VS_RETURN_IF_ERROR(status);
  for (const JsonField& item : document.At("runs").Items(kMostRuns)) {
    CaseOf(item, &data).runs.push_back(ReadRun(item));
  }
  if (const auto curves = document.Find("curves")) {
    for (const JsonField& item : curves->Items(kMostCurves)) {
      CaseOf(item, &data).curves.push_back(ReadCurve(item));
    }
  }
  if (data.cases.empty())
    document.At("runs").Fail("it is empty, and there are no curves, so there is nothing to report");
  ReadTraces(document, &data);
  if (const auto prices = document.Find("prices")) {
    if (prices->json().is_object()) {
      ReadPrices(*prices, prices->json(), "", &data);
    } else {
      prices->Fail("it is not an object");
    }
  }
  VS_RETURN_IF_ERROR(status);
  return data;
}

}  // namespace vramspan::replay
