#include "tools/vramspan/demo_report.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/vramspan/demo_text.h"

namespace vramspan::demo {
namespace {

struct Figures {
  Bytes in, out, out_clean;
  uint64_t remaps;
  double gb_per_s;  // Both ways together, over the time of the run.
  double ratio;     // Against the unlimited run.
};

Figures FiguresOf(const Report& report, const RunResult& run) {
  const Statistics& a = run.at_start;
  const Statistics& b = run.at_end;
  Figures f = {};
  f.in = Bytes(b.bytes_in - a.bytes_in);
  f.out = Bytes(b.bytes_out - a.bytes_out);
  f.out_clean = Bytes(b.bytes_out_clean - a.bytes_out_clean);
  f.remaps = b.remaps - a.remaps;
  f.gb_per_s = static_cast<double>((f.in + f.out).value) / run.seconds / 1e9;
  f.ratio = run.seconds / report.runs.front().seconds;
  return f;
}

const char* Verdict(const Report& report, const RunResult& run) {
  if (&run == &report.runs.front()) return "(the reference)";
  return report.Identical(run) ? "identical" : "DIFFERENT";
}

}  // namespace

bool Report::AllIdentical() const {
  return std::all_of(runs.begin(), runs.end(), [&](const RunResult& r) { return Identical(r); });
}

uint64_t Fingerprint(const Digest& digest) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const unsigned long long sum : digest) hash = (hash ^ sum) * 0x100000001b3u + (hash >> 29);
  return hash;
}

std::string ToTable(const Report& report) {
  std::string text = absl::StrFormat(
      "%s: %s, driver %d.%d (%s)\n", report.simulated ? "simulated GPU" : "GPU", report.device,
      report.driver_version / 1000, report.driver_version % 1000 / 10, report.driver);
  absl::StrAppendFormat(&text,
                        "program: %d blocks of %s, half read only, half rewritten, %d rounds, "
                        "2 streams, chunk %s, policy %s\nlaunches: %s\n\n",
                        report.shape.blocks, SizeText(Bytes(report.shape.block_bytes)),
                        report.shape.rounds, report.chunk, report.policy,
                        LaunchesText(report.launches));
  constexpr const char* kRow = "%-15s %10s %10s %10s %10s %6s %8s %9s %7s  %s\n";
  absl::StrAppendFormat(&text, kRow, "budget", "allocated", "device", "moved in", "moved out",
                        "GB/s", "remaps", "time", "ratio", "results");
  for (const RunResult& run : report.runs) {
    const Figures f = FiguresOf(report, run);
    const bool moved = (f.in + f.out).value != 0;
    absl::StrAppendFormat(&text, kRow, run.budget, SizeText(Bytes(run.at_end.allocated_bytes)),
                          SizeText(Bytes(run.at_end.device_budget)), SizeText(f.in),
                          SizeText(f.out), moved ? absl::StrFormat("%.1f", f.gb_per_s) : "-",
                          absl::StrCat(f.remaps), absl::StrFormat("%.3f s", run.seconds),
                          absl::StrFormat("%.2f", f.ratio), Verdict(report, run));
  }
  absl::StrAppendFormat(&text, "\nchecksum of every byte: %016x\n",
                        Fingerprint(report.runs.front().digest));
  if (report.AllIdentical()) {
    absl::StrAppendFormat(&text,
                          "%s of data in %s of device memory: results identical to those of the "
                          "unlimited run\n",
                          SizeText(report.shape.total_bytes()), SizeText(report.headline_budget));
  } else {
    absl::StrAppend(&text,
                    "results are DIFFERENT from those of the unlimited run: this is a bug of "
                    "vramspan, please report it with the line of the device above\n");
  }
  return text;
}

std::string ToJson(const Report& report) {
  using Json = nlohmann::ordered_json;
  Json json = {
      {"schema", "vramspan.demo"},
      {"schema_version", kSchemaVersion},
      {"vramspan_version", version()},
      {"simulated", report.simulated},
      {"driver", {{"path", report.driver}, {"version", report.driver_version}}},
      {"device", {{"name", report.device}, {"total_bytes", report.device_total.value}}},
      {"chunk", report.chunk},
      {"policy", report.policy},
      {"launches", report.launches.traced ? "traced" : "declared"},
      {"overlap", report.launches.overlap},
      {"why_declared", report.launches.why_declared},
      {"program",
       {{"blocks", report.shape.blocks},
        {"block_bytes", report.shape.block_bytes},
        {"rounds", report.shape.rounds},
        {"work", report.shape.work}}},
      {"data_bytes", report.shape.total_bytes().value},
      {"device_memory_bytes", report.headline_budget.value},
      {"runs", Json::array()},
      {"results", report.AllIdentical() ? "identical" : "DIFFERENT"},
  };
  for (const RunResult& run : report.runs) {
    const Figures f = FiguresOf(report, run);
    const Statistics& a = run.at_start;
    const Statistics& b = run.at_end;
    json["runs"].push_back({
        {"budget", run.budget},
        {"allocated_bytes", b.allocated_bytes},
        {"device_budget_bytes", b.device_budget},
        {"device_used_bytes", b.device_used},
        {"host_used_bytes", b.host_used},
        {"bytes_in", f.in.value},
        {"bytes_out", f.out.value},
        {"bytes_out_clean", f.out_clean.value},
        {"gb_per_second", f.gb_per_s},
        {"remaps", f.remaps},
        {"launches_traced", b.launches - a.launches},
        {"copies_traced", b.copies - a.copies},
        {"works", b.works - a.works},
        {"works_held", b.works_held - a.works_held},
        {"works_in_place", b.works_in_place - a.works_in_place},
        {"deadlines", b.deadlines - a.deadlines},
        {"moves_failed", b.moves_failed - a.moves_failed},
        {"vmm_seconds", static_cast<double>(b.vmm_ns - a.vmm_ns) / 1e9},
        {"seconds", run.seconds},
        {"ratio", f.ratio},
        {"checksum", absl::StrFormat("%016x", Fingerprint(run.digest))},
        {"results", &run == &report.runs.front() ? "reference"
                    : report.Identical(run)      ? "identical"
                                                 : "DIFFERENT"},
    });
  }
  return json.dump(2) + "\n";
}

}  // namespace vramspan::demo
