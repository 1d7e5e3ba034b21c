// `vramspan estimate`: how much slower would this program be with less device memory, or on another
// card? It is recorded, and the recording replayed.
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/clean_text.h"
#include "tools/replay/load_run.h"
#include "tools/vramspan/cards.h"
#include "tools/vramspan/command.h"
#include "tools/vramspan/damage.h"
#include "tools/vramspan/estimate_report.h"
#include "tools/vramspan/own_folder.h"
#include "tools/vramspan/recordings.h"
#include "tools/vramspan/run_program.h"
#include "tools/vramspan/run_start.h"

namespace vramspan {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kWho[] = "vramspan estimate";
constexpr int kRounds = 10;
constexpr std::chrono::seconds kLeastTime{20};

std::vector<std::string> CardWords() {
  std::vector<std::string> words = {"all"};
  for (const cards::Card& card : cards::All()) words.emplace_back(card.name);
  return words;
}

class EstimateCommand final : public Command {
 public:
  std::string name() const override { return "estimate"; }
  std::string summary() const override {
    return "Tell how slow a program is with less memory, and on other cards";
  }

  void Define(CommandOptions& options) override {
    given_ = options;
    options
        .Option("program", program_,
                "The program and its arguments. Options end at the first word that is no option.")
        .Shown(kProgram);
    options.WordsLast();
    options.Group("What is estimated");
    options
        .Option("--device-memory", budgets_,
                "Device memory here: a list of sizes, as 8GiB, and of parts of the run's peak, as "
                "50%")
        .Shown("SIZES")
        .ShowDefault();
    options
        .Option("--card", cards_,
                "Other cards: all, or a list of names that --list-cards prints (default: none)")
        .Shown("NAMES")
        .SuggestsListOf(CardWords());
    options
        .Option("--link", link_,
                "The GB/s that the link of these cards reaches, instead of the table's: 12.5 for "
                "half of the lanes of PCIe 4, say")
        .Shown("RATE");
    options.Flag("--list-cards", list_, "Print the table of cards, with its sources");
    options.Group("How the program runs");
    options
        .Option("--rounds", rounds_,
                "Interrupt the program, and all that it started, after so many rounds (training "
                "steps, tokens); 0: it ends by itself (default: 10 rounds, and 20 s of them)")
        .Within(0, 1000000)
        .Shown("N");
    options
        .Option("--for", seconds_,
                "Interrupt it after so many seconds, and by --rounds only where that is given")
        .Within(1, 86400)
        .Shown("SECONDS");
    options
        .Option("--trace", trace_,
                "Run nothing: take what `vramspan run --record` wrote, or synthetic:NAME")
        .Shown("FILE");
    options.Flag("--simulate", run_.simulate,
                 "Run on the simulated driver, whose kernels take a CPU's time");
    options.Group("What is written");
    options.Option("--format", format_, "How the result is printed")
        .OneOf({"table", "json"})
        .ShowDefault();
    options.Footer(
        "The program runs with all the memory that it can get, and is recorded until enough "
        "rounds are. A program without rounds runs to its end. The recording is "
        "replayed with each amount of memory, as `vramspan replay` does it. A slowdown is that of "
        "a round (a training step, a token) where the program has rounds.\n"
        "Kernels take as long as they did here. Of another card its memory and its link are taken, "
        "and not how fast it computes: on a slower card memory that moves costs less, by "
        "comparison.\n"
        "\n"
        "Exit status\n"
        "  0    the estimate was made, whatever the program's own status was\n"
        "  1    it was not; a sentence on stderr says why\n"
        "  2    the command line was not understood\n"
        "  126  the program cannot be run\n"
        "  127  there is no such program\n"
        "\n"
        "Examples\n"
        "  vramspan estimate -- python3 train.py\n"
        "  vramspan estimate --card rtx4060ti,rtx4090 -- python3 train.py\n"
        "  vramspan estimate --trace synthetic:loop --card all\n"
        "\n"
        "Read more: docs/replay.md");
  }

  int Run() override {
    if (const std::optional<std::string> option = given_->OptionWithoutValue()) {
      SayError(kWho, absl::StrCat(*option, " needs a value before --"));
      return kExitUsage;
    }
    if (list_) {
      std::cout << cards::Table();
      return kExitOk;
    }
    const Status done = Estimate();
    if (done.ok()) return kExitOk;
    SayError(kWho, done.message());
    if (code_ != kExitOk) return code_;
    return absl::IsInvalidArgument(done) && usage_ ? kExitUsage : kExitFailure;
  }

 private:
  Status Estimate() {
    usage_ = true;
    if (program_.empty() == trace_.empty()) {
      return absl::InvalidArgumentError(
          program_.empty() ? "name a program, or a recording with --trace"
                           : "--trace: a recording is taken instead of a program, not beside one");
    }
    estimate::Question question;
    if (cards_.has_value()) {
      VS_ASSIGN_OR_RETURN(question.cards, cards::Parse(*cards_));
    }
    VS_RETURN_IF_ERROR(replay::ParseBudgets(budgets_, GiB(1)).status());
    if (link_.has_value()) {
      double rate = 0;
      if (!absl::SimpleAtod(*link_, &rate) || !(rate >= 0.1 && rate <= 10000)) {
        return absl::InvalidArgumentError(
            absl::StrCat("--link: '", Repeated(*link_), "' is not a rate; use GB/s, as 12.5"));
      }
      if (question.cards.empty()) {
        return absl::InvalidArgumentError("--link: it is that of other cards; name them by --card");
      }
      question.link_gb_per_s = rate;
    }
    question.threads = std::max(1u, std::thread::hardware_concurrency());
    if (!trace_.empty()) {
      StatusOr<replay::RecordedRun> run = replay::LoadRun(trace_);
      usage_ = !run.ok() && trace_.starts_with("synthetic:");
      VS_RETURN_IF_ERROR(run.status());
      return Tell(*run, question);
    }
    usage_ = false;
    VS_ASSIGN_OR_RETURN(const std::unique_ptr<OwnFolder> folder, OwnFolder::Make(kWho, "estimate"));
    VS_RETURN_IF_ERROR(RunIn(folder->path()));
    VS_ASSIGN_OR_RETURN(const replay::RecordedRun run, Longest(folder->path()));
    return Tell(run, question);
  }

  // Records the program there.
  Status RunIn(const std::string& folder) {
    run_.program = absl::StrJoin(program_, " ");
    run_.record = folder + "/run-%p.vramspan";
    StatusOr<run::Plan> plan = run::PlanFor(kWho, program_.front(), run_, /*matters=*/true);
    if (!plan.ok()) {
      usage_ = absl::IsInvalidArgument(plan.status());
      return plan.status();
    }
    const Clock::time_point began = Clock::now();
    EnoughRounds rounds(folder, static_cast<size_t>(rounds_.value_or(kRounds)),
                        rounds_.has_value() ? std::chrono::seconds(0) : kLeastTime);
    const bool counts = rounds_.has_value() ? *rounds_ != 0 : !seconds_.has_value();
    bool interrupted = false;
    const auto enough = [&] {
      const bool late =
          seconds_.has_value() && Clock::now() - began >= std::chrono::seconds(*seconds_);
      interrupted = late || (counts && rounds.Reached());
      return interrupted;
    };
    const StatusOr<int> code = RunProgram(program_, {plan->begin(), plan->end()}, enough);
    if (!code.ok()) {
      code_ = absl::IsNotFound(code.status()) ? kExitNotFound : kExitNotRunnable;
      return code.status();
    }
    if (rounds.rounds() != 0) {
      SayError(kWho, absl::StrCat("the program was interrupted after ", rounds.rounds(),
                                  " rounds; --rounds 0 lets it end by itself"));
    } else if (*code != 0 && !interrupted) {
      SayError(kWho, absl::StrCat("the program ended with status ", *code,
                                  "; what it did until then is taken"));
    }
    return absl::OkStatus();
  }

  StatusOr<replay::RecordedRun> Longest(const std::string& folder) {
    StatusOr<LongestRecording> longest = LongestIn(folder);
    if (absl::IsNotFound(longest.status())) {
      return absl::FailedPreconditionError(
          absl::StrCat(program_.front(), " did nothing on the GPU that vramspan could record"));
    }
    VS_RETURN_IF_ERROR(longest.status());
    if (longest->others != 0) {
      SayError(kWho, absl::StrCat("of ", longest->others + 1,
                                  " processes the one with most work is taken; the others use "
                                  "memory, too"));
    }
    return std::move(longest->run);
  }

  Status Tell(const replay::RecordedRun& run, estimate::Question& question) {
    if (run.works.empty()) {
      return absl::FailedPreconditionError(
          "the recording holds no work, so there is nothing to estimate");
    }
    SayProblems(trace_.empty() ? program_.front() : trace_, run.problems);
    if (run.setting.device_budget != Bytes(0) && run.PeakBytes() > run.setting.device_budget) {
      SayError(kWho, "memory was short while the program was recorded, so times are less certain");
    }
    VS_ASSIGN_OR_RETURN(question.budgets, replay::ParseBudgets(budgets_, run.PeakBytes()));
    VS_ASSIGN_OR_RETURN(const estimate::Report report, estimate::Estimate(run, question));
    std::cout << (format_ == "json" ? estimate::ToJson(report) : estimate::ToTable(report));
    if (!std::cout.flush()) {
      return absl::UnavailableError("the estimate could not be written to stdout");
    }
    return absl::OkStatus();
  }

  std::optional<CommandOptions> given_;
  std::vector<std::string> program_;
  std::string budgets_ = "100%,75%,50%,25%", trace_, format_ = "table";
  std::optional<std::string> cards_, link_;
  std::optional<int> rounds_, seconds_;
  bool list_ = false;
  run::Options run_;
  bool usage_ = false;  // What is wrong is the command line.
  int code_ = kExitOk;
};

VRAMSPAN_COMMAND(EstimateCommand);

}  // namespace
}  // namespace vramspan
