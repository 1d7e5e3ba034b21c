// `vramspan tune`: the settings under which recorded runs would take least, as a profile.
#include "tools/replay/tune.h"

#include <absl/algorithm/container.h>
#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/backing/budget.h"
#include "tools/replay/explain.h"
#include "tools/replay/load_run.h"
#include "tools/replay/new_file.h"
#include "tools/replay/profile.h"
#include "tools/vramspan/command.h"
#include "tools/vramspan/damage.h"
#include "tools/vramspan/demo_text.h"
#include "tools/vramspan/option_words.h"
#include "tools/vramspan/replay_options.h"
#include "tools/vramspan/replay_progress.h"

namespace vramspan {
namespace {

using replay::RecordedRun;
using replay::TuneCandidate;

constexpr size_t kShown = 8;

// As a shell takes it for one word.
std::string Quoted(const std::string& word) {
  const auto plain = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("_-./+,:=%", c);
  };
  if (!word.empty() && absl::c_all_of(word, plain)) return word;
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

class TuneCommand final : public Command {
 public:
  std::string name() const override { return "tune"; }
  std::string summary() const override {
    return "Find the fastest settings of `vramspan run` for a recorded run";
  }

  void Define(CommandOptions& options) override {
    options.Option("traces", files_, "Traces that `vramspan run --record` wrote, or synthetic:NAME")
        .Required()
        .Shown("FILE");
    options.Option("-o,--output", output_, "The profile to write; - is stdout")
        .Required()
        .Shown("FILE");
    options.Flag("--force", force_, "Let --output replace a file");
    options
        .Option("--device-memory", budget_,
                "Device memory to tune for, as 8GiB, or 50% of the run's peak (default: the "
                "recorded budget)")
        .Shown("SIZE");
    options
        .Option("--overlap", overlaps_,
                "What may move beside running work: a list of auto, off, proven, safe and all to "
                "choose from. docs/overlap.md says what each risks (default: as recorded, else "
                "auto)")
        .Shown("LIST")
        .SuggestsListOf(OverlapWords());
    options
        .Option("--prices", prices_,
                "A file with the device's costs: the output of `vramspan info --format json`, or "
                "one of ~/.cache/vramspan (default: the recorded device's costs if `vramspan info` "
                "measured them on this machine, else an H100's)")
        .Shown("FILE");
    options
        .Option("--threads", threads_, "Replays at once, 1 to 1024 (default: the number of cores)")
        .Within(1, 1024)
        .Shown("N");
    options.Footer(
        "The run is replayed with every chunk size, then with every policy and the best two sizes. "
        "The best setting is replayed with allocations kept on the device, half the device memory "
        "at most. No GPU is needed.\n"
        "A setting is chosen only if it is predicted 3 % faster than the default, or 10 % for a "
        "fixed chunk size. The median round of each phase counts if the program repeats itself, "
        "else the whole run.\n"
        "\n"
        "Exit status\n"
        "  0  the profile is written\n"
        "  1  a trace cannot be read, or not all of it, or the profile cannot be written\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan tune out.vramspan --device-memory 8GiB -o train.profile\n"
        "  vramspan run --device-memory 8GiB --profile train.profile -- python3 train.py\n"
        "\n"
        "Read more: docs/replay.md");
  }

  int Run() override {
    const Status done = Tune();
    if (done.ok()) return kExitOk;
    SayError("vramspan tune", done.message());
    return usage_ ? kExitUsage : kExitFailure;
  }

 private:
  StatusOr<std::vector<replay::ReplayOverlap>> Overlaps(const RecordedRun& run) const {
    VS_ASSIGN_OR_RETURN(std::vector<replay::ReplayOverlap> overlaps,
                        replay::OverlapsFor(overlaps_, run));
    for (const replay::ReplayOverlap overlap : overlaps) {
      if (overlap == replay::ReplayOverlap::kDeclared) {
        return absl::InvalidArgumentError(
            "--overlap: 'declared' cannot be tuned, because it is up to the program; use a list of "
            "auto, off, proven, safe and all");
      }
    }
    return overlaps;
  }

  StatusOr<Bytes> DeviceMemory(const std::vector<RecordedRun>& runs) const {
    Bytes peak, recorded;
    for (const RecordedRun& run : runs) {
      peak = std::max(peak, run.PeakBytes());
      recorded = std::max(recorded, run.setting.device_budget);
    }
    if (!budget_.empty()) return ParseBudget(budget_, peak);
    if (recorded != Bytes(0) && recorded < peak) return recorded;
    return absl::InvalidArgumentError(
        "--device-memory is needed, because the run was recorded with room for all of its memory");
  }

  Status Tune() {
    usage_ = true;
    if (!budget_.empty()) {
      const StatusOr<Bytes> budget = ParseBudget(budget_, GiB(1));
      if (!budget.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("--device-memory: ", budget.status().message()));
      }
    }
    if (!overlaps_.empty()) VS_RETURN_IF_ERROR(Overlaps(RecordedRun()).status());
    usage_ = false;
    // Better told now than behind all the replays.
    VS_RETURN_IF_ERROR(replay::CheckNewFile(output_, force_));
    for (const std::string& file : files_) {
      VS_RETURN_IF_ERROR(replay::RefuseSameFile(output_, file, "what is read"));
    }
    std::vector<RecordedRun> runs;
    for (const std::string& file : files_) {
      StatusOr<RecordedRun> run = replay::LoadRun(file);
      if (!run.ok()) {
        usage_ = file.starts_with("synthetic:");
        return run.status();
      }
      SayProblems(file, run->notes);
      SayProblems(file, run->problems);
      if (run->works.empty()) {
        return absl::FailedPreconditionError(
            file + ": the trace holds no work, so there is nothing to tune");
      }
      runs.push_back(*std::move(run));
    }
    VS_ASSIGN_OR_RETURN(const replay::PricesOfDevice prices,
                        replay::PricesFor(prices_, runs.front()));
    replay::TuneOptions options;
    const StatusOr<Bytes> device_memory = DeviceMemory(runs);
    usage_ = !device_memory.ok();
    VS_RETURN_IF_ERROR(device_memory.status());
    options.device_memory = *device_memory;
    VS_ASSIGN_OR_RETURN(options.overlaps, Overlaps(runs.front()));
    for (size_t i = 0; i < runs.size(); ++i) {
      SayProblems(files_[i], replay::TrustNotes(overlaps_, options.overlaps, runs[i]));
    }
    options.threads = threads_ != 0 ? threads_ : std::max(1u, std::thread::hardware_concurrency());
    // Seven sizes of chunk, then eight other policies with two of them, then three choices of what
    // to keep.
    replay::Progress progress(files_.front(),
                              runs.size() * (7 * options.overlaps.size() + 2 * 8 + 3));
    const replay::Tuned tuned =
        replay::Tune(runs, prices.prices, options, [&](size_t done, size_t) { progress(done); });
    VS_RETURN_IF_ERROR(replay::WriteNewFile(output_, force_, replay::ProfileText(tuned.profile)));
    // One of them has stdout for itself.
    (output_ == "-" ? std::cerr : std::cout) << Text(tuned);
    if (!std::cout.flush()) {
      return absl::UnavailableError("the result could not be written to stdout");
    }
    for (size_t i = 0; i < files_.size(); ++i) {
      VS_RETURN_IF_ERROR(CheckWhole(files_[i], runs[i].problems));
    }
    return absl::OkStatus();
  }

  std::string Text(const replay::Tuned& tuned) const {
    const auto row = [](std::string_view what, const TuneCandidate& c) {
      const int log2 = c.setting.chunk_log2;
      Bytes kept;
      for (const Pin& pin : c.setting.pins) kept += pin.charged();
      const std::string round =
          c.rounds == 0 ? "-" : absl::StrFormat("%.3f", static_cast<double>(c.rounds) / 1e6);
      return absl::StrFormat("%-9s %-7s %-7s %-9s %-9s %12s %12.3f %6.2f\n", what, c.setting.policy,
                             log2 == 0 ? "auto" : demo::SizeText(ChunkBytes(log2)),
                             replay::OverlapName(c.setting.overlap),
                             kept == Bytes(0) ? "-" : demo::SizeText(kept), round,
                             static_cast<double>(c.predicted) / 1e6, c.slowdown);
    };
    std::string text = absl::StrFormat(
        "With %s of device memory (%.3f ms with everything on the device):\n\n"
        "%-9s %-7s %-7s %-9s %-9s %12s %12s %6s\n",
        demo::SizeText(tuned.profile.device_memory), static_cast<double>(tuned.resident) / 1e6, "",
        "policy", "chunk", "overlap", "kept", "a round ms", "predicted ms", "x");
    absl::StrAppend(&text, row("chosen", tuned.chosen), row("default", tuned.by_default));
    for (size_t i = 0; i < std::min(kShown, tuned.candidates.size()); ++i) {
      absl::StrAppend(&text, row(absl::StrCat(i + 1, "."), tuned.candidates[i]));
    }
    const std::string& program = tuned.profile.program;
    absl::StrAppend(&text, "\nUse it: vramspan run --device-memory ",
                    tuned.profile.device_memory.value, " --profile ", Quoted(output_), " -- ",
                    program.empty() ? "PROGRAM" : program, "\n");
    return text;
  }

  std::vector<std::string> files_;
  std::string output_, budget_, overlaps_, prices_;
  unsigned threads_ = 0;
  bool force_ = false;
  bool usage_ = false;  // What is wrong is the command line.
};

VRAMSPAN_COMMAND(TuneCommand);

}  // namespace
}  // namespace vramspan
