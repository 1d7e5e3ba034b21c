// What a replay found as JSON (replay_output.h), which `vramspan report` reads.
#include <absl/strings/str_cat.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/replay/curves_json.h"
#include "tools/replay/explain.h"
#include "tools/vramspan/replay_output.h"

namespace vramspan::replay {
namespace {

using Json = nlohmann::ordered_json;

double Ms(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

Json TraceJson(const ReplayedTrace& trace) {
  const RecordedRun& run = trace.run;
  uint64_t kernels = 0;
  for (const RecordedWork& w : run.works) kernels += w.kind == WorkKind::kKernel;
  Json phases = Json::array();
  for (const Rounds& p : trace.phases.all()) {
    phases.push_back(
        {{"first_work", p.begins().front()}, {"rounds", p.count()}, {"round_works", p.works()}});
  }
  // Nothing, where nobody saw them.
  Json waits = nullptr, waited = nullptr;
  if (run.setting.waits_told) {
    uint64_t all = 0;
    for (const RecordedWait& w : run.waits) all += w.duration;
    waits = run.waits.size();
    waited = Ms(all);
  }
  return {{"file", trace.file},
          {"program", run.setting.program},
          {"device", run.setting.device},
          {"works", run.works.size()},
          {"kernels", kernels},
          {"allocations", run.allocations.size()},
          {"peak_bytes", run.PeakBytes().value},
          {"recorded_ms", Ms(run.Duration())},
          {"estimated_times", run.setting.estimated_times},
          {"rounds", trace.phases.main().count()},
          {"round_works", trace.phases.main().works()},
          {"phases", std::move(phases)},
          {"waits", std::move(waits)},
          {"waited_ms", std::move(waited)},
          {"problems", run.problems},
          {"notes", run.notes}};
}

Json PricesJson(const ReplayPrices& prices) {
  Json chunks = Json::array();
  for (int i = 0; i < kChunkSizeCount; ++i) {
    const auto costs = [](const MapCosts& c) {
      return Json{{"map", c.map},
                  {"access", c.access},
                  {"unmap", c.unmap},
                  {"create", c.create},
                  {"release", c.release}};
    };
    chunks.push_back({{"bytes", ChunkBytes(kMinChunkLog2 + i).value},
                      {"device", costs(prices.device[static_cast<size_t>(i)])},
                      {"host", costs(prices.host[static_cast<size_t>(i)])}});
  }
  return {{"copy_gb_per_s",
           {{"in", prices.copy_in}, {"out", prices.copy_out}, {"both", prices.copy_both}}},
          {"serve_gb_per_s", prices.decisions.serve_gb_per_s},
          {"move_gb_per_s", prices.decisions.move_gb_per_s},
          {"device_gb_per_s", prices.decisions.device_gb_per_s},
          {"hold_call_us", prices.hold_call},
          {"hold_release_us", prices.hold_release},
          {"pass_us", {{"alone", prices.pass}, {"beside_copies", prices.pass_beside}}},
          {"mark_us", {{"alone", prices.mark}, {"beside_copies", prices.mark_beside}}},
          {"remap_beside", prices.beside},
          {"serve_both_ways", prices.both_ways},
          {"copy_start_us", prices.copy_start},
          {"piece_start_us", prices.piece_start},
          {"per_plan_us", prices.per_plan},
          {"per_fetch_us", prices.per_fetch},
          {"per_move_us", prices.per_move},
          {"short_call_us", prices.short_call},
          {"begin_us", prices.begin},
          {"remap_us", std::move(chunks)}};
}

Json TimelineJson(const RecordedRun& run, const Timeline& timeline) {
  Json rows = Json::array();
  for (const Timeline::Row& row : timeline.rows) {
    Json resident = Json::array();
    // Four digits are more than anybody sees.
    for (const float part : row.resident) resident.push_back(std::round(part * 1e4) / 1e4);
    rows.push_back({{"name", AllocationName(run, row.allocation)},
                    {"bytes", run.allocations[row.allocation].size.value},
                    {"resident", std::move(resident)}});
  }
  Json stall = Json::array();
  for (const uint64_t nanoseconds : timeline.stall) stall.push_back(Ms(nanoseconds));
  return {{"bins", Timeline::kBins},        {"bin_ms", Ms(timeline.bin)},
          {"allocations", std::move(rows)}, {"device_bytes", timeline.device_bytes},
          {"fetches", timeline.fetches},    {"stall_ms", std::move(stall)}};
}

Json RoundJson(const ReplayedTrace& trace, uint64_t nanoseconds) {
  return trace.phases.main().empty() ? Json(nullptr) : Json(Ms(nanoseconds));
}

Json RunJson(const ReplayedTrace& trace, size_t index) {
  const ReplayResult& r = trace.results[index];
  const std::optional<double>& percent = trace.percents[index];
  const int log2 = r.setting.chunk_log2;
  Json kernels = Json::array();
  for (const KernelResult& k : r.kernels) {
    kernels.push_back({{"name", KernelName(trace.run.codes[k.code])},
                       {"launches", k.launches},
                       {"resident_ms", Ms(k.resident)},
                       {"predicted_ms", Ms(k.predicted)},
                       {"stall_ms", Ms(k.stall.total())},
                       {"bytes_in_place", k.in_place.value},
                       {"fetches", k.fetches},
                       {"why", WhyKernel(trace.run, r, k)}});
  }
  Json phases = Json::array();
  for (size_t p = 0; p < r.phases.size(); ++p) {
    phases.push_back(
        {{"round_ms", Ms(r.phases[p])}, {"resident_round_ms", Ms(r.resident_phases[p])}});
  }
  Json json = {{"trace", trace.file},
               {"policy", r.setting.policy},
               {"device_memory_bytes", r.setting.device_memory.value},
               {"device_memory_percent", percent.has_value() ? Json(*percent) : Json(nullptr)},
               {"chunk_bytes", log2 == 0 ? 0 : ChunkBytes(log2).value},
               {"overlap", OverlapName(r.setting.overlap)},
               {"predicted_ms", Ms(r.predicted)},
               {"resident_ms", Ms(r.resident)},
               {"slowdown", Slowdown(r)},
               {"round_ms", RoundJson(trace, r.round)},
               {"resident_round_ms", RoundJson(trace, r.resident_round)},
               {"phases", std::move(phases)},
               {"stall_ms", Ms(r.stall.total())},
               {"stall_copy_ms", Ms(r.stall.copy)},
               {"stall_vmm_ms", Ms(r.stall.vmm)},
               {"stall_drain_ms", Ms(r.stall.drain)},
               {"fetches", r.fetches},
               {"bound_fetches", r.bound_fetches},
               {"bound_exact", r.bound_exact},
               {"moves_in", r.moves_in},
               {"moves_out", r.moves_out},
               {"served_in_place", r.served_in_place},
               {"bytes_in", r.bytes_in.value},
               {"bytes_out", r.bytes_out.value},
               {"bytes_in_place", r.bytes_in_place.value},
               {"kernels", std::move(kernels)}};
  if (r.timeline.has_value()) json["timeline"] = TimelineJson(trace.run, *r.timeline);
  return json;
}

}  // namespace

std::string ReplayJson(const std::vector<ReplayedTrace>& traces, const PricesOfDevice& prices) {
  Json json = {{"tool", "vramspan replay"}, {"version", 1}};
  if (!traces.empty()) json["trace"] = TraceJson(traces.front());
  if (traces.size() > 1) {
    Json all = Json::array();
    for (const ReplayedTrace& trace : traces) all.push_back(TraceJson(trace));
    json["traces"] = std::move(all);
  }
  json["prices"] = PricesJson(prices.prices);
  json["prices"]["source"] = prices.source;
  Json runs = Json::array();
  for (const ReplayedTrace& trace : traces) {
    for (size_t i = 0; i < trace.results.size(); ++i) runs.push_back(RunJson(trace, i));
  }
  json["runs"] = std::move(runs);
  nlohmann::json curves = nlohmann::json::array();
  for (const ReplayedTrace& trace : traces) {
    for (const Curve& curve : trace.curves) curves.push_back(CurveToJson(curve));
  }
  json["curves"] = std::move(curves);
  // A program's own strings may be anything.
  return json.dump(1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace vramspan::replay
