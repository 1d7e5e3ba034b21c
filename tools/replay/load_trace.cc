#include "tools/replay/load_trace.h"

#include <absl/strings/str_cat.h>

#include <utility>

#include "runtime/base/clean_text.h"
#include "tools/replay/fill_times.h"
#include "tools/replay/fill_trust.h"
#include "tools/replay/run_limits.h"
#include "tools/replay/trace_events.h"
#include "tools/replay/trace_problems.h"
#include "tools/replay/traced_order.h"

namespace vramspan::replay {
namespace {

RecordedSetting SettingOf(const trace::Header& h) {
  return {.program = CleanText(h.program),
          .device = CleanText(h.device),
          .device_uuid = CleanText(h.device_uuid),
          .device_memory = h.device_memory,
          .device_budget = h.device_budget,
          .host_budget = h.host_budget,
          .policy = CleanText(h.policy),
          .overlap = CleanText(h.overlap),
          .chunk_log2 = h.chunk_log2,
          .serve_gb_per_s = h.serve_gb_per_s,
          .move_gb_per_s = h.move_gb_per_s,
          .device_gb_per_s = h.device_gb_per_s,
          .source = CleanText(h.source),
          .estimated_times = h.times == "estimated",
          .waits_told = h.waits == 1,
          .possible_told = h.possible == 1,
          .trust_told = h.trust == 1};
}

}  // namespace

StatusOr<RecordedRun> LoadTrace(const std::string& path) {
  VS_ASSIGN_OR_RETURN(const std::unique_ptr<trace::Reader> reader, trace::Reader::Open(path));
  StatusOr<RecordedRun> run = LoadTrace(reader.get());
  if (run.ok()) return run;
  return Status(run.status().code(), absl::StrCat(path, ": ", run.status().message()));
}

StatusOr<RecordedRun> LoadTrace(trace::Reader* reader) {
  const RunLimits limits(reader->file_bytes());
  TraceProblems problems;
  TraceEvents events(limits, &problems);
  Status status;
  reader->ForEach([&](const trace::Reader::Block& block, const trace::Event& e) {
    status = events.Take(block.offset, block.header.thread, e);
    if (!status.ok()) reader->Stop();
  });
  VS_RETURN_IF_ERROR(status);
  RecordedRun run;
  run.setting = SettingOf(reader->header());
  problems.PutFirst(reader->problems());
  TracedOrder order(limits, events.Finish(), &problems);
  VS_RETURN_IF_ERROR(order.Build(&run));
  if (reader->header().times == "events") FillTimes(&run);
  FillTrust(&run);
  run.problems = problems.Finish();
  return run;
}

}  // namespace vramspan::replay
