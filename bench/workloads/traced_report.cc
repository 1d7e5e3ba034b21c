#include "bench/workloads/traced_report.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace vramspan::bench {
namespace {

// "-" where there is nothing to compare with.
std::string RatioText(double ratio) {
  return ratio == 0 ? std::string("-") : absl::StrFormat("%.2f", ratio);
}

std::string TracedText(const Row& r) {
  if (!r.traced) return {};
  return absl::StrFormat(
      "%8.1f %8.1f %8.1f %6.0f %7.1f %7.1f %7.1f", r.Each(&Statistics::bytes_in) / 1e6,
      r.Each(&Statistics::bytes_out) / 1e6, r.Each(&Statistics::bytes_in_place) / 1e6,
      r.Each(&Statistics::works_held), r.Each(&Statistics::stall_drain_ns) / 1e6,
      r.Each(&Statistics::stall_copy_ns) / 1e6, r.Each(&Statistics::stall_vmm_ns) / 1e6);
}

}  // namespace

void Report::Add(Row row) {
  const auto last = std::find_if(rows.rbegin(), rows.rend(), [&](const Row& r) {
    return r.workload == row.workload && r.what == row.what;
  });
  rows.insert(last == rows.rend() ? rows.end() : last.base(), std::move(row));
}

const Row* Report::Find(const Row& like, const std::string& way) const {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& r) {
    return r.workload == like.workload && r.what == like.what && r.way == way;
  });
  return found == rows.end() ? nullptr : &*found;
}

double Report::Ratio(const Row& row, const std::string& way) const {
  const Row* const other = Find(row, way);
  return other == nullptr ? 0 : row.timing.median / other->timing.median;
}

bool Report::right() const {
  return std::all_of(rows.begin(), rows.end(), [](const Row& r) { return r.right; });
}

void Report::PrintTable() const {
  std::printf("%s; budget %.2f GB", machine.c_str(), static_cast<double>(budget) / 1e9);
  if (link_rate != 0) std::printf("; link in %.1f GB/s", link_rate / 1e9);
  std::printf("\n");
  if (!launches.empty()) {
    std::printf("\nempty launch, microseconds of the launching thread, medians\n");
    for (const LaunchRow& l : launches) {
      std::printf("%-18s %-28s %8.3f %+8.3f\n", l.kernel.c_str(), l.way.c_str(), l.us, l.added);
    }
  }
  if (rows.empty()) return;
  std::printf(
      "\nms: median of the passes; whole: wall clock a pass; x: ms over those of ...; in, out, "
      "place: MB a pass\nthat were copied, and that launches were served from the host; held: "
      "launches a pass; drain, copy, vmm: ms a pass that\nthe first held launch waited for; ~: "
      "from the times of its parts\n\n");
  std::printf("%-8s %-14s %-9s %10s %9s %9s %7s %7s %7s %7s %7s %8s %8s %8s %6s %7s %7s %7s\n", "",
              "case", "way", "ms", "whole", "bound", "x bound", "x resid", "x host", "x split",
              "x hand", "in", "out", "place", "held", "drain", "copy", "vmm");
  std::string last;
  for (const Row& r : rows) {
    const std::string key = r.workload + r.what;
    if (!last.empty() && key != last) std::printf("\n");
    last = key;
    std::printf("%-8s %-14s %-9s %s%9.3f %9.3f %9.3f %7.2f %7s %7s %7s %7s %s%s\n",
                r.workload.c_str(), r.what.c_str(), r.way.c_str(), r.estimated ? "~" : " ",
                1e3 * r.timing.median, 1e3 * r.timing.whole, 1e3 * r.bound,
                r.timing.median / r.bound, RatioText(Ratio(r, kResident)).c_str(),
                RatioText(Ratio(r, kHost)).c_str(), RatioText(Ratio(r, kSplit)).c_str(),
                RatioText(Ratio(r, kByHand)).c_str(), TracedText(r).c_str(),
                r.right ? "" : "  WRONG RESULTS");
  }
  std::printf("\nresults: %s\n", right() ? "all as in plain device memory" : "WRONG");
}

void Report::PrintJson() const {
  using Json = nlohmann::ordered_json;
  Json json = {
      {"schema", "vramspan.bench.traced"},   {"schema_version", "1.0.0"}, {"machine", machine},
      {"link_in_gb_per_s", link_rate / 1e9}, {"budget_bytes", budget},    {"right", right()},
      {"launches", Json::array()},           {"rows", Json::array()}};
  for (const LaunchRow& l : launches) {
    json["launches"].push_back(
        {{"kernel", l.kernel}, {"way", l.way}, {"us", l.us}, {"added_us", l.added}});
  }
  for (const Row& r : rows) {
    Json row = {{"workload", r.workload},
                {"case", r.what},
                {"way", r.way},
                {"ms", 1e3 * r.timing.median},
                {"mean_ms", 1e3 * r.timing.mean},
                {"whole_ms", 1e3 * r.timing.whole},
                {"bound_ms", 1e3 * r.bound},
                {"passes", r.timing.passes},
                {"right", r.right},
                {"estimated", r.estimated},
                {"to", {{"bound", r.timing.median / r.bound}}}};
    for (const char* way : {kResident, kHost, kSplit, kByHand}) {
      if (Find(r, way) != nullptr) row["to"][way] = Ratio(r, way);
    }
    if (r.traced) {
      for (const auto& [name, counter] : {std::pair{"bytes_in", &Statistics::bytes_in},
                                          {"bytes_out", &Statistics::bytes_out},
                                          {"bytes_in_place", &Statistics::bytes_in_place},
                                          {"works", &Statistics::works},
                                          {"works_held", &Statistics::works_held},
                                          {"works_in_place", &Statistics::works_in_place},
                                          {"deadlines", &Statistics::deadlines},
                                          {"launches", &Statistics::launches},
                                          {"launches_unknown", &Statistics::launches_unknown},
                                          {"trials", &Statistics::trials},
                                          {"vmm_ns", &Statistics::vmm_ns},
                                          {"stall_drain_ns", &Statistics::stall_drain_ns},
                                          {"stall_copy_ns", &Statistics::stall_copy_ns},
                                          {"stall_vmm_ns", &Statistics::stall_vmm_ns}}) {
        row["a_pass"][name] = r.Each(counter);
      }
    }
    json["rows"].push_back(std::move(row));
  }
  std::printf("%s\n", json.dump(2).c_str());
}

}  // namespace vramspan::bench
