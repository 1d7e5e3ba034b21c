// `vramspan replay`: what would a recorded run have cost with less memory, another policy, other
// chunks, on another device? No GPU is needed.
#include <absl/algorithm/container.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/log.h"
#include "tools/replay/load_run.h"
#include "tools/replay/replay_all.h"
#include "tools/vramspan/command.h"
#include "tools/vramspan/damage.h"
#include "tools/vramspan/replay_output.h"
#include "tools/vramspan/replay_progress.h"

namespace vramspan {
namespace {

using replay::Budget;
using replay::ReplayedTrace;
using replay::ReplaySetting;

class ReplayCommand final : public Command {
 public:
  std::string name() const override { return "replay"; }
  std::string summary() const override {
    return "What a recorded run would have cost with less memory, another policy or other chunks";
  }

  void Define(CommandOptions& options) override {
    options.Option("traces", files_, "Traces that `vramspan run --record` wrote, or synthetic:...")
        .Required()
        .Shown("TRACE");
    options
        .Option("--device-memory", budgets_,
                "Device memory to try: a list of sizes (8GiB) and of parts of what the run had "
                "at most (50%)")
        .ShowDefault();
    options
        .Option("--policy", policies_,
                "Who leaves: all, or a list of arc, clock, cost, cycle, fifo, lfu, lru, random, "
                "s3fifo, sieve and min (the fewest fetches there can be, the future known)")
        .ShowDefault();
    options.Option("--chunk", chunks_, "The unit that moves: a list of auto and 2MiB to 64MiB")
        .ShowDefault();
    options.Option("--overlap", overlap_,
                   "What may move beside running work: off, safe, all, or declared (default: as "
                   "recorded, else off)");
    options.Option("--keep", keep_,
                   "Allocations to keep on the device, at most half of it: a list of SIZE:NTH, the "
                   "bytes of one and which of that size it is, from 1 (min keeps what it likes)");
    options.Option("--prices", prices_,
                   "What things cost on the device: a file of what `vramspan info --format json` "
                   "prints, or ~/.cache/vramspan/UUID.json (default: the recorded device's, where "
                   "`vramspan info` measured it on this machine, else an H100's)");
    options.Option("--format", format_, "table, csv or json")
        .OneOf({"table", "csv", "json"})
        .ShowDefault();
    options.Flag("--timeline", timeline_, "In the JSON, what lay where over time");
    options.Flag("--curves", curves_,
                 "In the JSON, the miss-ratio curve of each policy as a plain cache");
    options.Option("--threads", threads_, "Replays at once (default: as many as there are cores)")
        .Within(1, 1024);
    options.Footer(
        "Runs the decisions of the runtime (its policies and its planner) over the recorded work, "
        "in\n"
        "virtual time, with measured costs; no GPU is needed. `x` is the time against the run with "
        "all\n"
        "its memory on the device; `fetches` are chunks that were not there when work needed them, "
        "and\n"
        "`at least` is how few anybody could have done with. A round is what the program does "
        "again\n"
        "and again (a training step, a token): what one takes, in the median.\n"
        "\n"
        "Without a trace: synthetic:loop, synthetic:sweep and synthetic:random, with keys, as in\n"
        "synthetic:loop,layers=24,passes=20,mib=64,us=3000\n"
        "\n"
        "Exit code: 1: a trace cannot be read, or not all of it; 2: the command line was not "
        "understood.\n"
        "\n"
        "Examples\n"
        "  vramspan run --record out.vramspan -- python train.py\n"
        "  vramspan replay out.vramspan\n"
        "  vramspan replay out.vramspan --device-memory 8GiB,12GiB --policy all --chunk "
        "auto,2MiB,16MiB\n"
        "  vramspan replay out.vramspan --timeline --curves --format json > replay.json\n"
        "  vramspan replay synthetic:loop,layers=48,us=1000 --policy lru,cycle,cost,min");
  }

  int Run() override {
    const Status done = Replay();
    if (done.ok()) return kExitOk;
    SayError("vramspan replay", done.message());
    return absl::IsInvalidArgument(done) && usage_ ? kExitUsage : kExitFailure;
  }

 private:
  Status Replay() {
    usage_ = true;
    VS_ASSIGN_OR_RETURN(const std::vector<std::string> policies, replay::ParsePolicies(policies_));
    VS_ASSIGN_OR_RETURN(const std::vector<int> chunks, replay::ParseChunks(chunks_));
    // Any whole will do to see whether the text is right.
    VS_RETURN_IF_ERROR(replay::ParseBudgets(budgets_, GiB(1)).status());
    if (!overlap_.empty()) VS_RETURN_IF_ERROR(replay::ParseReplayOverlap(overlap_).status());
    const StatusOr<std::vector<Pin>> pins = ParsePins(keep_);
    if (!pins.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--keep: ", pins.status().message()));
    }
    if ((timeline_ || curves_) && format_ != "json") {
      return absl::InvalidArgumentError(absl::StrCat(timeline_ ? "--timeline" : "--curves",
                                                     ": the ", format_,
                                                     " has no room for it: add --format json"));
    }
    usage_ = false;
    // One device's for all: those of the first trace.
    replay::PricesOfDevice prices;
    unsigned threads = threads_;
    if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());

    std::vector<ReplayedTrace> traces;
    for (const std::string& file : files_) {
      usage_ = true;  // A synthetic run is part of the command line.
      StatusOr<replay::RecordedRun> run = replay::LoadRun(file);
      if (!run.ok()) {
        usage_ = file.starts_with("synthetic:");
        return run.status();
      }
      usage_ = false;
      ReplayedTrace trace(file, *std::move(run));
      SayProblems(file, trace.run.notes);
      SayProblems(file, trace.run.problems);
      if (trace.run.works.empty()) {
        return absl::FailedPreconditionError(file +
                                             ": holds no work, so there is nothing to replay");
      }
      for (const Pin& pin : *pins) {
        const auto same = absl::c_count_if(trace.run.allocations,
                                           [&](const auto& a) { return a.size == pin.size; });
        if (static_cast<uint64_t>(same) < pin.nth) {
          return absl::FailedPreconditionError(
              absl::StrCat(file, ": --keep ", pin.size.value, ":", pin.nth, ": there are ", same,
                           " allocations of ", pin.size.value, " bytes"));
        }
      }
      if (traces.empty()) {
        VS_ASSIGN_OR_RETURN(prices, replay::PricesFor(prices_, trace.run));
      }
      const std::string& recorded = trace.run.setting.overlap;
      const StatusOr<replay::ReplayOverlap> overlap =
          replay::ParseReplayOverlap(!overlap_.empty()  ? overlap_
                                     : recorded.empty() ? "off"
                                                        : recorded);
      VS_RETURN_IF_ERROR(overlap.status());
      VS_ASSIGN_OR_RETURN(const std::vector<Budget> budgets,
                          replay::ParseBudgets(budgets_, trace.run.PeakBytes()));
      std::vector<ReplaySetting> settings;
      for (const Budget& budget : budgets) {
        for (const int chunk : chunks) {
          for (const std::string& policy : policies) {
            settings.push_back({.policy = policy,
                                .device_memory = budget.bytes,
                                .chunk_log2 = chunk,
                                .overlap = *overlap,
                                .pins = *pins,
                                .timeline = timeline_});
            trace.percents.push_back(budget.percent);
          }
        }
      }
      replay::Progress progress(file, settings.size());
      trace.results = replay::ReplayAll(trace.run, prices.prices, settings, threads,
                                        [&](size_t done) { progress(done); });
      if (curves_) {
        replay::CurveOptions options{.trace = file, .policies = policies, .chunk_log2 = chunks};
        options.threads = threads;
        options.progress = [&](double part) { progress.Curves(part); };
        VS_ASSIGN_OR_RETURN(trace.curves, replay::MakeCurves(trace.run, options));
      }
      traces.push_back(std::move(trace));
    }
    std::cout << (format_ == "json"  ? replay::ReplayJson(traces, prices)
                  : format_ == "csv" ? replay::ReplayCsv(traces)
                                     : replay::ReplayTable(traces, prices.source));
    if (!std::cout.flush()) {
      return absl::UnavailableError("the results could not be written to stdout");
    }
    for (const ReplayedTrace& trace : traces) {
      VS_RETURN_IF_ERROR(CheckWhole(trace.file, trace.run.problems));
    }
    return absl::OkStatus();
  }

  std::vector<std::string> files_;
  std::string budgets_ = "25%,50%,75%,100%", policies_ = "cost,lru,min", chunks_ = "auto";
  std::string overlap_, keep_, prices_, format_ = "table";
  bool timeline_ = false, curves_ = false;
  unsigned threads_ = 0;
  bool usage_ = false;  // What is wrong is the command line.
};

VRAMSPAN_COMMAND(ReplayCommand);

}  // namespace
}  // namespace vramspan
