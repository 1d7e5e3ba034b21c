// Recorded runs as traces of ours (load_trace.h), so that what others recorded can be kept.
#include <absl/strings/str_replace.h>
#include <unistd.h>

#include "runtime/trace/writer.h"
#include "tools/replay/load_trace.h"
#include "tools/replay/new_file.h"

namespace vramspan::replay {
namespace {

trace::Header HeaderOf(const RecordedRun& run) {
  const RecordedSetting& s = run.setting;
  trace::Header h;
  h.program = s.program;
  h.device = s.device;
  h.device_uuid = s.device_uuid;
  h.device_memory = s.device_memory;
  h.device_budget = s.device_budget;
  h.host_budget = s.host_budget;
  h.policy = s.policy;
  h.overlap = s.overlap;
  h.times = s.estimated_times ? "estimated" : "given";
  h.chunk_log2 = s.chunk_log2;
  h.serve_gb_per_s = s.serve_gb_per_s;
  h.move_gb_per_s = s.move_gb_per_s;
  h.device_gb_per_s = s.device_gb_per_s;
  h.source = s.source;
  h.waits = s.waits_told;
  h.possible = s.possible_told;
  h.trust = s.trust_told;
  return h;
}

Status Write(const RecordedRun& run, const std::string& path) {
  // Only this thread writes, so nothing is dropped but for want of memory.
  VS_ASSIGN_OR_RETURN(
      const std::unique_ptr<trace::Writer> writer,
      trace::Writer::Open({.path = path, .force = true, .most_waiting = SIZE_MAX}, HeaderOf(run)));
  for (uint32_t i = 0; i < run.codes.size(); ++i) {
    const RecordedCode& code = run.codes[i];
    writer->Add(trace::CodeEvent{i, code.shape, code.name});
    if (code.alike) writer->Add(trace::AlikeEvent{i, *code.alike});
  }
  uint64_t last = 0;
  size_t discarded = 0;
  // Those that come before the step.
  const auto add_discards = [&](size_t step) {
    for (; discarded < run.discards.size() && run.discards[discarded].step <= step; ++discarded) {
      const RecordedDiscard& d = run.discards[discarded];
      const DevicePtr base = run.allocations[d.allocation].base + Bytes(d.offset);
      if (d.kind == RecordedDiscard::Kind::kOwned) {
        writer->Add(trace::OwnEvent{d.time, base, Bytes(d.size)});
        continue;
      }
      writer->Add(trace::DiscardEvent{d.time, base, Bytes(d.size),
                                      d.kind == RecordedDiscard::Kind::kUnowned});
    }
  };
  for (size_t i = 0; i < run.steps.size(); ++i) {
    const RecordedStep& step = run.steps[i];
    add_discards(i);
    if (step.kind == RecordedStep::Kind::kAllocate) {
      const RecordedAllocation& a = run.allocations[step.index];
      last = a.allocated;
      writer->Add(trace::AllocateEvent{a.allocated, a.base, a.size});
      continue;
    }
    if (step.kind == RecordedStep::Kind::kFree) {
      const RecordedAllocation& a = run.allocations[step.index];
      last = a.freed;
      writer->Add(trace::FreeEvent{a.freed, a.base});
      continue;
    }
    const RecordedWork& w = run.works[step.index];
    trace::WorkEvent event;
    event.time = last = w.submitted;
    event.id = step.index;
    event.stream = w.stream;
    event.code = w.code;
    event.kind = static_cast<trace::WorkEvent::Kind>(w.kind);
    event.complete = w.complete;
    event.trust = w.trust;
    const auto add = [&](const RecordedRange& r, bool possible) {
      event.ranges.push_back({run.allocations[r.allocation].base + Bytes(r.offset), Bytes(r.size),
                              r.slot, r.write, r.exact, r.settled, possible, r.told});
    };
    for (const RecordedRange& r : run.set(w.set)) add(r, /*possible=*/false);
    for (const RecordedRange& r : run.may_touch(w.set)) add(r, /*possible=*/true);
    writer->Add(event);
    if (w.cost != 0) writer->Add(trace::CostEvent{1, w.cost});
    if (w.timed() && !w.guessed) {
      writer->Add(trace::TimesEvent{step.index, w.start, w.end - w.start, Bytes(w.remote)});
    }
  }
  add_discards(run.steps.size());
  for (const RecordedMove& m : run.moves) {
    writer->Add(trace::MoveEvent{m.time, m.duration,
                                 run.allocations[m.allocation].base + Bytes(m.offset),
                                 Bytes(m.size), m.in, m.clean});
  }
  for (const RecordedComparison& c : run.comparisons) {
    writer->Add(trace::CompareEvent{run.allocations[c.allocation].base + Bytes(c.offset),
                                    Bytes(c.size), c.first, c.last, c.same});
  }
  for (const RecordedWait& w : run.waits) {
    writer->Add(
        trace::WaitEvent{w.time, w.duration, static_cast<trace::WaitEvent::For>(w.what), w.stream});
  }
  return writer->Close();
}

}  // namespace

Status SaveTrace(const RecordedRun& run, const std::string& path, bool force) {
  VS_ASSIGN_OR_RETURN(const std::unique_ptr<OutputPlace> place, OutputPlace::Find(path, force));
  const Status written = Write(run, place->writing());
  if (written.ok()) return place->Move();
  // It was written under a name that tells nobody anything.
  return Status(written.code(), absl::StrReplaceAll(written.message(), {{place->writing(), path}}));
}

}  // namespace vramspan::replay
