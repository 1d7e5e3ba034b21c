#include "runtime/api/statistics_text.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "runtime/api/memory_text.h"
#include "runtime/base/clean_text.h"
#include "runtime/base/log.h"
#include "runtime/base/small_file.h"

namespace vramspan {
namespace {

constexpr std::string_view kJsonStart =
    R"({"schema":"vramspan.stats","schema_version":1,"process":)";

std::string Milliseconds(uint64_t ns) { return absl::StrFormat("%.1f ms", ns / 1e6); }

// As a value of JSON. What is not to be shown is gone from it.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : CleanText(text)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

// Kernels that a table names, and how much of their names.
constexpr size_t kUntriedShown = 5;
constexpr size_t kLongestName = 60;

double Rate(uint64_t bytes, uint64_t ns) {
  return ns == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(ns);
}

}  // namespace

std::string StatisticsText(const vramspanStatistics& s, const StatisticsDetails& details) {
  std::string text = absl::StrCat("vramspan: process ", getpid(), "\n");
  const auto line = [&](std::string_view what, std::string_view value) {
    absl::StrAppendFormat(&text, "  %-26s %s\n", what, value);
  };
  line("allocated at the peak", absl::StrCat(MemoryText(s.peak_allocated_bytes), " (device budget ",
                                             MemoryText(s.device_budget), ")"));
  line("host memory in use", MemoryText(s.host_used));
  line("work recorded", absl::StrCat(s.works, " pieces, ", s.works_held, " held for ",
                                     Milliseconds(s.hold_ns), " in all"));
  if (s.launches + s.copies != 0) {
    std::string traced = absl::StrCat(
        s.launches, " launches (", s.launches_unknown, " named no memory of vramspan), ", s.copies,
        " copies, ", s.touches, " pointers in ", MemoryText(s.bytes_scanned), " scanned");
    if (s.graphs_cut != 0) {
      absl::StrAppend(&traced, ", ", s.graphs_cut, " graphs in ", s.segments, " segments");
    }
    if (s.launches_encoded != 0) {
      absl::StrAppend(&traced, ", ", s.launches_encoded, " launches with addresses in other forms");
    }
    line("traced", traced);
  }
  if (s.launches != 0) {
    line("launches by trust",
         absl::StrCat(s.launches_proven, " proven, ", s.launches_plausible, " plausible, ",
                      s.launches_untried, " untried (docs/overlap.md)"));
    size_t shown = 0;
    for (const KernelTrust& k : details.kernels) {
      const bool untried = k.trust == Trust::kUntried && k.proven < k.launches;
      if (!untried || ++shown > kUntriedShown) continue;
      const std::string of = k.proven == 0 ? "" : absl::StrCat(" of ", k.launches);
      line("untried kernel", absl::StrCat(k.launches - k.proven, of, " launches of ",
                                          CleanText(k.name, kLongestName), ": ", k.why));
    }
  }
  if (s.forecast_hits + s.forecast_misses != 0) {
    line("forecast",
         absl::StrCat(s.forecast_hits, " launches right, ", s.forecast_misses, " wrong"));
  }
  line("fetched", absl::StrFormat("%s, %d chunks, %.1f GB/s", MemoryText(s.bytes_in), s.fetches,
                                  Rate(s.bytes_in, s.copy_in_ns)));
  line("evicted", absl::StrFormat("%s, and %s without a copy, %d chunks, %.1f GB/s",
                                  MemoryText(s.bytes_out), MemoryText(s.bytes_out_clean),
                                  s.evictions, Rate(s.bytes_out, s.copy_out_ns)));
  if (s.bytes_in_place != 0 || s.works_in_place != 0) {
    line("served in place",
         absl::StrCat(MemoryText(s.bytes_in_place), " at most, ", s.works_in_place,
                      " pieces of work, ", s.trials, " trials"));
  }
  if (s.fetches_unused != 0) {
    line("fetched in vain",
         absl::StrCat(s.fetches_unused, " chunks, evicted again before they were used"));
  }
  if (s.returned != 0) line("fetched while idle", absl::StrCat(s.returned, " chunks"));
  line("the head waited for",
       absl::StrCat("running work ", Milliseconds(s.stall_drain_ns), ", copies ",
                    Milliseconds(s.stall_copy_ns), ", remaps ", Milliseconds(s.stall_vmm_ns)));
  if (s.fetches + s.evictions != 0) {
    line("the mover's thread",
         absl::StrCat("decisions ", Milliseconds(s.mover_decide_ns), ", beginnings of moves ",
                      Milliseconds(s.mover_begin_ns), ", remaps ", Milliseconds(s.mover_remap_ns),
                      ", mappings on the host ", Milliseconds(s.mover_map_ns)));
  }
  if (s.lease_state != 0) {
    line("shared by a broker", absl::StrCat(s.lease_grants, " grants, ", s.lease_recalls,
                                            " recalls, ", s.lease_reconnects, " reconnections",
                                            s.lease_state == 1 ? "; it is gone" : ""));
  }
  if (s.rests != 0) {
    line("all on the device again",
         absl::StrCat(s.rests, s.rests == 1 ? " time" : " times", ", until memory ran short anew"));
  }
  if (s.deadlines != 0) line("released by the deadline", absl::StrCat(s.deadlines));
  if (s.moves_failed != 0) line("moves failed", absl::StrCat(s.moves_failed));
  for (const PassedMemory& p : details.passed) {
    if (p.allocations == 0) continue;
    line(absl::StrCat("of the driver: ", p.what),
         absl::StrCat(p.allocations, " allocations, ", MemoryText(p.bytes), " in all"));
  }
  return text;
}

std::string StatisticsJson(const vramspanStatistics& s, const StatisticsDetails& details) {
  std::string text = absl::StrCat(kJsonStart, getpid());
#define VS_FIELD(name) absl::StrAppend(&text, ",\"" #name "\":", s.name)
  VS_FIELD(device_budget);
  VS_FIELD(device_used);
  VS_FIELD(device_cached);
  VS_FIELD(host_budget);
  VS_FIELD(host_used);
  VS_FIELD(host_cached);
  VS_FIELD(allocations);
  VS_FIELD(allocated_bytes);
  VS_FIELD(peak_allocated_bytes);
  VS_FIELD(chunks);
  VS_FIELD(works);
  VS_FIELD(works_held);
  VS_FIELD(works_in_place);
  VS_FIELD(deadlines);
  VS_FIELD(bytes_in);
  VS_FIELD(bytes_out);
  VS_FIELD(bytes_out_clean);
  VS_FIELD(fetches);
  VS_FIELD(evictions);
  VS_FIELD(remaps);
  VS_FIELD(moves_failed);
  VS_FIELD(hold_ns);
  VS_FIELD(copy_in_ns);
  VS_FIELD(copy_out_ns);
  VS_FIELD(vmm_ns);
  VS_FIELD(unsettled_streams);
  VS_FIELD(launches);
  VS_FIELD(copies);
  VS_FIELD(launches_unknown);
  VS_FIELD(touches);
  VS_FIELD(bytes_scanned);
  VS_FIELD(bytes_in_place);
  VS_FIELD(trials);
  VS_FIELD(returned);
  VS_FIELD(forecast_hits);
  VS_FIELD(forecast_misses);
  VS_FIELD(stall_drain_ns);
  VS_FIELD(stall_copy_ns);
  VS_FIELD(stall_vmm_ns);
  VS_FIELD(fetches_unused);
  VS_FIELD(launches_encoded);
  VS_FIELD(launches_untried);
  VS_FIELD(launches_plausible);
  VS_FIELD(launches_proven);
  VS_FIELD(launches_known);
  VS_FIELD(graphs_cut);
  VS_FIELD(segments);
  VS_FIELD(lease_state);
  VS_FIELD(lease_grants);
  VS_FIELD(lease_recalls);
  VS_FIELD(lease_reconnects);
  VS_FIELD(mover_decide_ns);
  VS_FIELD(mover_begin_ns);
  VS_FIELD(mover_remap_ns);
  VS_FIELD(mover_map_ns);
  VS_FIELD(rests);
#undef VS_FIELD
  absl::StrAppend(&text, ",\"passed\":[");
  const char* comma = "";
  for (const PassedMemory& p : details.passed) {
    absl::StrAppend(&text, comma, R"({"what":")", p.what, R"(","allocations":)", p.allocations,
                    R"(,"bytes":)", p.bytes, "}");
    comma = ",";
  }
  absl::StrAppend(&text, "],\"kernels\":[");
  comma = "";
  for (const KernelTrust& k : details.kernels) {
    absl::StrAppend(&text, comma, R"({"name":)", Quoted(k.name), R"(,"trust":")",
                    TrustName(k.trust), R"(","why":)", Quoted(k.why), R"(,"launches":)", k.launches,
                    R"(,"proven":)", k.proven, absl::StrFormat(R"(,"module":"%016x"})", k.module));
    comma = ",";
  }
  absl::StrAppend(&text, "]}\n");
  return text;
}

std::string StatisticsOffText(std::string_view where, std::string_view why) {
  return absl::StrCat("vramspan: process ", getpid(), "\n  off ", where, ": ", CleanText(why),
                      "\n");
}

std::string StatisticsOffJson(std::string_view where, std::string_view why) {
  return absl::StrCat(kJsonStart, getpid(), R"(,"off":)", Quoted(why), R"(,"off_where":)",
                      Quoted(where), "}\n");
}

namespace {

const char* Destination() {
  const char* where = std::getenv("VRAMSPAN_STATS");
  return where != nullptr && *where != '\0' ? where : nullptr;
}

bool IsJson(std::string_view where) { return where.ends_with(".json"); }

Status Write(const char* where, const std::string& text) {
  if (std::strcmp(where, "-") == 0) {
    // A reader that has gone, or a stderr that the program has closed, is nobody to tell of it.
    WriteToStderr(text);
    return absl::OkStatus();
  }
  const Status written = AppendToFile(where, text);
  if (written.ok()) return written;
  return Status(written.code(), absl::StrCat("VRAMSPAN_STATS: ", written.message()));
}

}  // namespace

Status WriteStatistics(const vramspanStatistics& s, const StatisticsDetails& details) {
  const char* where = Destination();
  if (where == nullptr) return absl::OkStatus();
  return Write(where, IsJson(where) ? StatisticsJson(s, details) : StatisticsText(s, details));
}

Status WriteStatisticsOff(std::string_view place, std::string_view why) {
  const char* where = Destination();
  if (where == nullptr) return absl::OkStatus();
  return Write(where,
               IsJson(where) ? StatisticsOffJson(place, why) : StatisticsOffText(place, why));
}

}  // namespace vramspan
