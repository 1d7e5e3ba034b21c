// `vramspan replay`: what would a recorded run have cost with less memory, another policy, other
// chunks, on another device? No GPU is needed.
#include <absl/algorithm/container.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <deque>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/log.h"
#include "tools/broker/words/turns_text.h"
#include "tools/replay/load_run.h"
#include "tools/replay/more_rounds.h"
#include "tools/replay/replay_all.h"
#include "tools/vramspan/command.h"
#include "tools/vramspan/damage.h"
#include "tools/vramspan/option_words.h"
#include "tools/vramspan/replay_output.h"
#include "tools/vramspan/replay_progress.h"
#include "tools/vramspan/replay_shared.h"

namespace vramspan {
namespace {

using replay::Budget;
using replay::ReplayedTrace;
using replay::ReplaySetting;

class ReplayCommand final : public Command {
 public:
  std::string name() const override { return "replay"; }
  std::string summary() const override {
    return "Predict what a recorded run takes with less memory or another policy";
  }

  void Define(CommandOptions& options) override {
    options
        .Option("traces", files_,
                "Traces that `vramspan run --record` wrote, or synthetic:NAME (see below)")
        .Required()
        .Shown("FILE");
    options.Group("What is tried");
    options
        .Option("--device-memory", budgets_,
                "Device memory: a list of sizes, as 8GiB, and of parts of the run's peak, as 50%")
        .Shown("SIZES")
        .ShowDefault();
    options
        .Option("--policy", policies_,
                "What is evicted: all, or a list of arc, clock, cost, cycle, fifo, lfu, lru, "
                "random, s3fifo, sieve and min. min knows the future, and fetches least")
        .Shown("NAMES")
        .SuggestsListOf(PolicyWords({"all", "min"}))
        .ShowDefault();
    options
        .Option("--chunk", chunks_,
                "The unit that moves: a list of auto and powers of two from 2MiB to 64MiB")
        .Shown("SIZES")
        .SuggestsListOf(ChunkWords())
        .ShowDefault();
    options
        .Option("--overlap", overlap_,
                "What may move beside running work: auto, off, proven, safe, all or declared "
                "(default: as recorded, else auto)")
        .Shown("HOW")
        .Suggests(OverlapWords({"declared"}));
    options
        .Option("--keep", keep_,
                "Allocations to keep on the device: a list of SIZE:NTH, the size in bytes and the "
                "number among those of that size, from 1. They get half the device memory at most. "
                "min ignores them")
        .Shown("LIST");
    options
        .Option("--prices", prices_,
                "A file with the device's costs: the output of `vramspan info --format json`, or "
                "one of ~/.cache/vramspan (default: the recorded device's costs if `vramspan info` "
                "measured them on this machine, else an H100's)")
        .Shown("FILE");
    options.Group("Several programs on one device");
    options.Flag("--broker", broker_,
                 "Replay all traces together, on one device whose memory a broker shares among "
                 "them. Parts as 50% are of the sum of their peaks. One policy (default: cost)");
    options
        .Option("--tenant", tenants_,
                "Of one trace, by its file's name without .vramspan, or its number from 1: "
                "NAME:KEY=VALUE,... with the keys weight, guarantee, limit and class of "
                "tenants.d; start, when it begins, as 5s; and rounds, how often it does what it "
                "repeats, as 500")
        .Shown("TENANT");
    options
        .Option("--turns", turns_,
                "Whether programs whose data do not fit together work by turns: auto, where the "
                "broker finds that faster, or off (default: auto)")
        .Shown("auto|off");
    options.Group("Output");
    options.Option("--format", format_, "How the result is printed")
        .OneOf({"table", "csv", "json"})
        .ShowDefault();
    options.Flag("--timeline", timeline_, "Add to the JSON what was where over time");
    options.Flag("--curves", curves_,
                 "Add to the JSON the miss-ratio curve of each policy as a plain cache");
    options
        .Option("--threads", threads_, "Replays at once, 1 to 1024 (default: the number of cores)")
        .Within(1, 1024)
        .Shown("N");
    options.Footer(
        "A replay makes the runtime's own decisions over the recorded work, in virtual time, with "
        "measured costs. It needs no GPU. The table says, for each setting:\n"
        "  x         the predicted time over the time with all memory on the device\n"
        "  a round   the median time of what the program repeats, as a training step or a token\n"
        "  fetches   accesses that did not find their chunk on the device\n"
        "  at least  the fewest fetches that are possible if the future is known\n"
        "synthetic:loop, synthetic:sweep, synthetic:random, synthetic:training and "
        "synthetic:choice are "
        "made-up programs. They take keys, as in the last example.\n"
        "\n"
        "Exit status\n"
        "  0  all traces were replayed\n"
        "  1  a trace cannot be read, or not all of it\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan run --record out.vramspan -- python3 train.py && vramspan replay out.vramspan\n"
        "  vramspan replay out.vramspan --device-memory 8GiB,12GiB --policy all --chunk "
        "auto,2MiB,16MiB\n"
        "  vramspan replay out.vramspan --timeline --curves --format json > replay.json\n"
        "  vramspan replay synthetic:loop,layers=24,passes=20,mib=64,us=3000 --policy "
        "lru,cycle,cost,min\n"
        "  vramspan replay a.vramspan b.vramspan --broker --device-memory 8GiB --tenant "
        "a:weight=200\n"
        "\n"
        "Read more: docs/replay.md");
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
                                                     " has no room for it; add --format json"));
    }
    if (!broker_ && (!tenants_.empty() || turns_)) {
      return absl::InvalidArgumentError(
          absl::StrCat(turns_ ? "--turns: there are turns" : "--tenant: there are tenants",
                       " with --broker alone"));
    }
    if (broker_) return Together(*pins);
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
        return absl::FailedPreconditionError(
            file + ": the trace holds no work, so there is nothing to replay");
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
      VS_ASSIGN_OR_RETURN(const std::vector<replay::ReplayOverlap> overlaps,
                          replay::OverlapsFor(overlap_, trace.run));
      SayProblems(file, replay::TrustNotes(overlap_, overlaps, trace.run));
      VS_ASSIGN_OR_RETURN(const std::vector<Budget> budgets,
                          replay::ParseBudgets(budgets_, trace.run.PeakBytes()));
      std::vector<ReplaySetting> settings;
      for (const Budget& budget : budgets) {
        for (const int chunk : chunks) {
          for (const std::string& policy : policies) {
            settings.push_back({.policy = policy,
                                .device_memory = budget.bytes,
                                .chunk_log2 = chunk,
                                .overlap = overlaps.front(),
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

  // The traces on one device.
  Status Together(const std::vector<Pin>& pins) {
    if (!pins.empty() || timeline_ || curves_ || format_ == "csv") {
      return absl::InvalidArgumentError(
          "--broker: --keep, --timeline, --curves and --format csv are for single programs");
    }
    const std::string policy = policies_ == kPolicies ? "cost" : policies_;
    VS_ASSIGN_OR_RETURN(const std::vector<std::string> policies, replay::ParsePolicies(policy));
    VS_ASSIGN_OR_RETURN(const std::vector<int> chunks, replay::ParseChunks(chunks_));
    if (policies.size() != 1 || policies.front() == replay::kMinPolicy || chunks.size() != 1) {
      return absl::InvalidArgumentError(
          "--broker: it takes one --policy, which is not min, and one --chunk");
    }
    replay::SharedOptions options;
    VS_ASSIGN_OR_RETURN(options.turns, broker::ParseTurns(turns_.value_or("auto")));
    replay::SharedPrograms shared;
    shared.names = replay::TenantNames(files_);
    VS_ASSIGN_OR_RETURN(const std::vector<replay::TenantOption> tenants,
                        replay::ParseTenants(tenants_, shared.names));
    std::vector<replay::RecordedRun> runs;
    Bytes peaks;
    for (size_t i = 0; i < files_.size(); ++i) {
      const std::string& file = files_[i];
      StatusOr<replay::RecordedRun> run = replay::LoadRun(file);
      usage_ = file.starts_with("synthetic:");
      if (!run.ok()) return run.status();
      if (tenants[i].rounds) {
        usage_ = true;
        run = replay::WithRounds(*std::move(run), *tenants[i].rounds);
        if (!run.ok()) {
          return Status(run.status().code(),
                        absl::StrCat("--tenant: ", file, ": rounds=", *tenants[i].rounds, ": ",
                                     run.status().message()));
        }
      }
      SayProblems(file, run->notes);
      SayProblems(file, run->problems);
      if (run->works.empty()) {
        usage_ = false;
        return absl::FailedPreconditionError(
            file + ": the trace holds no work, so there is nothing to replay");
      }
      peaks += run->PeakBytes();
      runs.push_back(*std::move(run));
    }
    usage_ = false;
    VS_ASSIGN_OR_RETURN(const replay::PricesOfDevice prices,
                        replay::PricesFor(prices_, runs.front()));
    VS_ASSIGN_OR_RETURN(const std::vector<Budget> budgets, replay::ParseBudgets(budgets_, peaks));
    std::deque<replay::Timing> timings;
    for (size_t i = 0; i < runs.size(); ++i) {
      VS_ASSIGN_OR_RETURN(const std::vector<replay::ReplayOverlap> overlaps,
                          replay::OverlapsFor(overlap_, runs[i]));
      SayProblems(files_[i], replay::TrustNotes(overlap_, overlaps, runs[i]));
      timings.emplace_back(&runs[i], prices.prices);
      shared.programs.push_back({.run = &runs[i],
                                 .timing = &timings.back(),
                                 .setting = {.policy = policies.front(),
                                             .chunk_log2 = chunks.front(),
                                             .overlap = overlaps.front()},
                                 .policy = tenants[i].policy,
                                 .start = tenants[i].start});
    }
    std::vector<replay::SharedRun> results;
    for (const Budget& budget : budgets) {
      StatusOr<replay::SharedRun> run = replay::RunShared(shared, prices.prices, budget, options);
      usage_ = !run.ok();
      if (!run.ok()) return run.status();
      results.push_back(*std::move(run));
    }
    std::cout << (format_ == "json" ? replay::SharedJson(shared, results, prices.source)
                                    : replay::SharedTable(shared, results, prices.source));
    if (!std::cout.flush()) {
      return absl::UnavailableError("the results could not be written to stdout");
    }
    for (size_t i = 0; i < runs.size(); ++i) {
      VS_RETURN_IF_ERROR(CheckWhole(files_[i], runs[i].problems));
    }
    return absl::OkStatus();
  }

  static constexpr char kPolicies[] = "cost,lru,min";

  std::vector<std::string> files_, tenants_;
  std::optional<std::string> turns_;
  bool broker_ = false;
  std::string budgets_ = "25%,50%,75%,100%", policies_ = kPolicies, chunks_ = "auto";
  std::string overlap_, keep_, prices_, format_ = "table";
  bool timeline_ = false, curves_ = false;
  unsigned threads_ = 0;
  bool usage_ = false;  // What is wrong is the command line.
};

VRAMSPAN_COMMAND(ReplayCommand);

}  // namespace
}  // namespace vramspan
