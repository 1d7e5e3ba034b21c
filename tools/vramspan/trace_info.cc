// `vramspan trace info`: who was recorded, where, and how much there is of it.
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/base/clean_text.h"
#include "runtime/trace/reader.h"
#include "tools/replay/load_trace.h"
#include "tools/replay/rounds.h"
#include "tools/vramspan/amount_text.h"
#include "tools/vramspan/damage.h"
#include "tools/vramspan/trace_action.h"

namespace vramspan::trace_command {
namespace {

using replay::RecordedRun;
using replay::RecordedWork;

class Info final : public Action {
 public:
  std::string name() const override { return "info"; }

  void Define(CommandOptions& trace) override {
    CommandOptions options =
        trace.Action(name(), "Show who was recorded, where, and how much there is of it");
    options.Option("trace", path_, "A trace of `vramspan run --record`").Required().Shown("FILE");
    options.Option("--format", format_, "How the result is printed")
        .OneOf({"table", "json"})
        .ShowDefault();
    options.Footer(
        "A line on stderr names each damaged or missing part.\n"
        "\n"
        "Exit status\n"
        "  0  the trace was read whole\n"
        "  1  the trace cannot be read, or not all of it; the rest is shown\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan trace info out.vramspan\n"
        "  vramspan trace info out.vramspan --format json > info.json\n"
        "\n"
        "Read more: docs/replay.md");
  }

  Status Run() override {
    VS_ASSIGN_OR_RETURN(const std::unique_ptr<trace::Reader> reader, trace::Reader::Open(path_));
    const StatusOr<RecordedRun> loaded = replay::LoadTrace(reader.get());
    if (!loaded.ok()) {
      return Status(loaded.status().code(), absl::StrCat(path_, ": ", loaded.status().message()));
    }
    const RecordedRun& run = *loaded;
    SayProblems(path_, run.problems);
    uint64_t measured = 0, device_time = 0, in = 0, out = 0, clean = 0, waited = 0;
    std::vector<uint64_t> ends;
    for (const RecordedWork& work : run.works) {
      ends.push_back(work.end);
      measured += work.timed() && !work.guessed ? 1 : 0;
      device_time += work.end - work.start;
    }
    for (const replay::RecordedMove& move : run.moves) {
      (move.clean ? clean : move.in ? in : out) += move.size;
    }
    for (const replay::RecordedWait& wait : run.waits) waited += wait.duration;
    // Nothing, where nobody saw them.
    const auto told = [&](uint64_t number) {
      return run.setting.waits_told ? nlohmann::ordered_json(number) : nlohmann::ordered_json();
    };
    const replay::Phases found(run);
    const replay::Rounds& rounds = found.main();
    const uint64_t round = rounds.Median(ends);
    nlohmann::ordered_json phases = nlohmann::ordered_json::array();
    for (const replay::Rounds& p : found.all()) {
      phases.push_back({{"first_work", p.begins().front()},
                        {"rounds", p.count()},
                        {"round_works", p.works()},
                        {"round_ns", p.Median(ends)}});
    }
    const trace::Header& h = reader->header();
    if (format_ == "json") {
      const nlohmann::ordered_json json = {{"schema", "vramspan.trace-info"},
                                           {"schema_version", 1},
                                           {"file", path_},
                                           {"file_bytes", reader->file_bytes()},
                                           {"format_version", h.version},
                                           {"source", h.source},
                                           {"program", h.program},
                                           {"pid", h.pid},
                                           {"began_unix_ns", h.began_unix_ns},
                                           {"device", h.device},
                                           {"device_uuid", h.device_uuid},
                                           {"device_memory_bytes", h.device_memory.value},
                                           {"device_budget_bytes", h.device_budget.value},
                                           {"host_budget_bytes", h.host_budget.value},
                                           {"policy", h.policy},
                                           {"overlap", h.overlap},
                                           {"times", h.times},
                                           {"chunk_log2", h.chunk_log2},
                                           {"blocks", reader->blocks()},
                                           {"events", reader->events()},
                                           {"duration_ns", run.Duration()},
                                           {"works", run.works.size()},
                                           {"works_measured", measured},
                                           {"device_time_ns", device_time},
                                           {"codes", run.codes.size()},
                                           {"rounds", rounds.count()},
                                           {"round_works", rounds.works()},
                                           {"round_ns", round},
                                           {"phases", std::move(phases)},
                                           {"allocations", run.allocations.size()},
                                           {"peak_bytes", run.PeakBytes().value},
                                           {"waits", told(run.waits.size())},
                                           {"waited_ns", told(waited)},
                                           {"moves", run.moves.size()},
                                           {"bytes_in", in},
                                           {"bytes_out", out},
                                           {"bytes_moved_without_a_copy", clean},
                                           {"complete", reader->ended()},
                                           {"problems", run.problems}};
      std::cout << json.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) << "\n";
      return CheckWhole(path_, run.problems);
    }
    const auto line = [](const char* what, const std::string& value) {
      std::cout << absl::StrFormat("%-14s %s\n", what, CleanText(value));
    };
    line("program", h.program.empty() ? "(unknown)" : h.program);
    line("recorded by",
         absl::StrCat(h.source, ", format ", h.version, ", ", SizeText(reader->file_bytes()), ", ",
                      reader->events(), " events in ", reader->blocks(), " blocks"));
    // What other tools record says less.
    std::string device = h.device.empty() ? "(unknown)" : h.device;
    const auto add = [&](std::string_view what, Bytes bytes) {
      if (bytes != Bytes(0)) absl::StrAppend(&device, ", ", what, SizeText(bytes.value));
    };
    add("", h.device_memory);
    add("budget ", h.device_budget);
    add("host ", h.host_budget);
    line("device", device);
    if (!h.policy.empty() || !h.overlap.empty()) {
      line("settings",
           absl::StrCat("policy ", h.policy, ", overlap ", h.overlap, ", chunks ",
                        h.chunk_log2 == 0 ? "by size" : SizeText(uint64_t{1} << h.chunk_log2)));
    }
    line("time", absl::StrCat(TimeText(run.Duration()), ", the device busy for ",
                              TimeText(device_time), " of it (", h.times, ")"));
    line("work", absl::StrCat(run.works.size(), " pieces, ", measured, " measured, of ",
                              run.codes.size(), " kinds"));
    for (const replay::Rounds& p : found.all()) {
      line("rounds", absl::StrCat(p.count(), " of ", p.works(), " pieces of work, ",
                                  TimeText(p.Median(ends)), " each"));
    }
    if (run.setting.waits_told) {
      line("waits", absl::StrCat("the program waited for its device ", run.waits.size(), " times, ",
                                 TimeText(waited), " in all"));
    }
    line("memory", absl::StrCat(run.allocations.size(), " allocations, at most ",
                                SizeText(run.PeakBytes().value), " at once"));
    line("moved", absl::StrCat(run.moves.size(), " chunks: ", SizeText(in), " in, ", SizeText(out),
                               " out, ", SizeText(clean), " without a copy"));
    return CheckWhole(path_, run.problems);
  }

 private:
  std::string path_, format_ = "table";
};

}  // namespace

std::unique_ptr<Action> MakeInfo() { return std::make_unique<Info>(); }

}  // namespace vramspan::trace_command
