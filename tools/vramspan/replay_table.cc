// What a replay found for people, and as CSV (replay_output.h).
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_replace.h>

#include <algorithm>

#include "runtime/base/clean_text.h"
#include "tools/replay/explain.h"
#include "tools/vramspan/demo_text.h"
#include "tools/vramspan/replay_output.h"

namespace vramspan::replay {
namespace {

using demo::SizeText;

double Ms(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

std::string ChunkText(int log2) { return log2 == 0 ? "auto" : SizeText(ChunkBytes(log2)); }

std::string BudgetText(const ReplayResult& r, const std::optional<double>& percent) {
  const std::string size = SizeText(r.setting.device_memory);
  return percent.has_value() ? absl::StrFormat("%s (%g %%)", size, *percent) : size;
}

std::string RoundText(const ReplayedTrace& trace, uint64_t nanoseconds) {
  return trace.phases.main().empty() ? "" : absl::StrFormat("%.6f", Ms(nanoseconds));
}

// Quoted, for files may be called anything.
std::string CsvText(const std::string& text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

// What a round of each phase takes, where there is more to say than the main one's.
void AppendPhases(const ReplayedTrace& trace, std::string* out) {
  const absl::Span<const Rounds> phases = trace.phases.all();
  if (phases.size() < 2 && !trace.phases.main().empty()) return;
  if (phases.empty()) return;
  absl::StrAppend(out,
                  "\n"
                  "Rounds of each phase, in ms, with their number and their pieces of work\n");
  absl::StrAppendFormat(out, "%-18s %-7s %-8s", "memory", "policy", "chunk");
  for (const Rounds& p : phases) {
    absl::StrAppendFormat(out, " %14s", absl::StrCat(p.count(), " of ", p.works()));
  }
  absl::StrAppendFormat(out, "\n%-18s %-7s %-8s", "all", "-", "-");
  const auto append = [&](const std::vector<uint64_t>& times) {
    for (const uint64_t time : times) absl::StrAppendFormat(out, " %14.3f", Ms(time));
    absl::StrAppend(out, "\n");
  };
  append(trace.results.front().resident_phases);
  for (size_t i = 0; i < trace.results.size(); ++i) {
    const ReplayResult& r = trace.results[i];
    absl::StrAppendFormat(out, "%-18s %-7s %-8s", BudgetText(r, trace.percents[i]),
                          r.setting.policy, ChunkText(r.setting.chunk_log2));
    append(r.phases);
  }
}

void AppendTrace(const ReplayedTrace& trace, std::string* out) {
  const RecordedRun& run = trace.run;
  absl::StrAppendFormat(out, "%s: %d pieces of work, %d allocations, at most %s at once\n",
                        CleanText(trace.file), run.works.size(), run.allocations.size(),
                        SizeText(run.PeakBytes()));
  if (run.setting.estimated_times) {
    absl::StrAppend(out, "  Its times are estimates, so those below are estimates too.\n");
  }
  if (trace.results.empty()) return;
  absl::StrAppendFormat(out, "  With all of it on the device: %.3f ms (recorded: %.3f ms)\n",
                        Ms(trace.results.front().resident), Ms(run.Duration()));
  const bool rounds = !trace.phases.main().empty();
  if (rounds) {
    absl::StrAppendFormat(out, "  A round of %d pieces of work, %d times: %.3f ms each\n",
                          trace.phases.main().works(), trace.phases.main().count(),
                          Ms(trace.results.front().resident_round));
  }
  absl::StrAppendFormat(out, "\n%-18s %-7s %-8s %12s %6s%s %11s %11s %10s %10s %10s %10s\n",
                        "memory", "policy", "chunk", "predicted ms", "x",
                        rounds ? absl::StrFormat(" %10s", "a round") : "", "stall ms",
                        "in place ms", "fetches", "at least", "in", "out");
  for (size_t i = 0; i < trace.results.size(); ++i) {
    const ReplayResult& r = trace.results[i];
    absl::StrAppendFormat(out, "%-18s %-7s %-8s %12.3f %6.2f%s %11.3f %11.3f %10d %10d %10s %10s\n",
                          BudgetText(r, trace.percents[i]), r.setting.policy,
                          ChunkText(r.setting.chunk_log2), Ms(r.predicted), Slowdown(r),
                          rounds ? absl::StrFormat(" %10.3f", Ms(r.round)) : "",
                          Ms(r.stall.total()), Ms(r.in_place_time), r.fetches, r.bound_fetches,
                          SizeText(r.bytes_in), SizeText(r.bytes_out));
  }
  AppendPhases(trace, out);
}

}  // namespace

std::string ReplayTable(const std::vector<ReplayedTrace>& traces, const std::string& prices) {
  std::string out;
  for (const ReplayedTrace& trace : traces) {
    if (!out.empty()) absl::StrAppend(&out, "\n");
    AppendTrace(trace, &out);
  }
  absl::StrAppend(&out, "\nPrices: ", CleanText(prices), "\n");
  return out;
}

std::string ReplayCsv(const std::vector<ReplayedTrace>& traces) {
  std::string out =
      "trace,policy,device_memory_bytes,device_memory_percent,chunk_bytes,overlap,predicted_ms,"
      "resident_ms,slowdown,stall_ms,stall_copy_ms,stall_vmm_ms,stall_drain_ms,fetches,"
      "bound_fetches,moves_in,moves_out,served_in_place,bytes_in,bytes_out,bytes_in_place,"
      "round_ms,resident_round_ms\n";
  for (const ReplayedTrace& trace : traces) {
    for (size_t i = 0; i < trace.results.size(); ++i) {
      const ReplayResult& r = trace.results[i];
      const int log2 = r.setting.chunk_log2;
      absl::StrAppendFormat(
          &out,
          "%s,%s,%d,%s,%d,%s,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%d,%d,%d,%d,%d,%d,%d,%d,%s,%s\n",
          CsvText(trace.file), r.setting.policy, r.setting.device_memory.value,
          trace.percents[i].has_value() ? absl::StrFormat("%g", *trace.percents[i]) : "",
          log2 == 0 ? 0 : ChunkBytes(log2).value, OverlapName(r.setting.overlap), Ms(r.predicted),
          Ms(r.resident), Slowdown(r), Ms(r.stall.total()), Ms(r.stall.copy), Ms(r.stall.vmm),
          Ms(r.stall.drain), r.fetches, r.bound_fetches, r.moves_in, r.moves_out, r.served_in_place,
          r.bytes_in.value, r.bytes_out.value, r.bytes_in_place.value, RoundText(trace, r.round),
          RoundText(trace, r.resident_round));
    }
  }
  return out;
}

}  // namespace vramspan::replay
