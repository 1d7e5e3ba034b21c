// `vramspan run`: starts a program that knows nothing of vramspan with the preload in it.
#include <absl/algorithm/container.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "tools/vramspan/command.h"
#include "tools/vramspan/option_words.h"
#include "tools/vramspan/program_file.h"
#include "tools/vramspan/reader_start.h"
#include "tools/vramspan/run_plan.h"
#include "tools/vramspan/run_start.h"
#include "tools/vramspan/top_records.h"

namespace vramspan {
namespace {

// What a shell answers for a program that is not there, or cannot be run.
constexpr int kExitNotFound = 127;
constexpr int kExitNotExecutable = 126;

// What an earlier run left. Whatever else has the name was not ours.
Status RemoveRecording(const std::string& option, const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::symlink_status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return absl::OkStatus();
  if (!error && !std::filesystem::is_regular_file(status)) {
    return absl::FailedPreconditionError(option + ": " + path +
                                         " is not a regular file, and --force removes no other");
  }
  if (!error) std::filesystem::remove(path, error);
  if (!error) return absl::OkStatus();
  return absl::FailedPreconditionError(option + ": " + path + ": " + error.message());
}

class RunCommand final : public Command {
 public:
  std::string name() const override { return "run"; }
  std::string summary() const override {
    return "Start a CUDA program, unchanged, with more memory than the device has";
  }

  void Define(CommandOptions& options) override {
    given_ = options;
    options
        .Option("program", command_,
                "The program and its arguments. Options end at the first word that is no option.")
        .Required()
        .Shown(kProgram);
    options.WordsLast();
    options.Group("Memory");
    options
        .Option("--device-memory", options_.device_memory,
                "Device memory for the program's data, as 8GiB, or 50% of the device (default: the "
                "free memory less a head-room)")
        .Shown("SIZE");
    options
        .Option("--host-memory", options_.host_memory,
                "Host memory for data that does not fit, as 64GiB, or 50% of the machine (default: "
                "the available memory less a margin)")
        .Shown("SIZE");
    options
        .Option("--chunk", options_.chunk,
                "The unit that moves: auto, or a power of two from 2MiB to 64MiB (default: auto)")
        .Shown("SIZE")
        .Suggests(ChunkWords());
    options
        .Option("--report", options_.report,
                "What the program is told about memory: device, budget (the device budget) or "
                "total (both budgets) (default: device)")
        .Shown("WHAT")
        .Suggests({"device", "budget", "total"});
    options
        .Option("--broker", options_.broker,
                "The broker that shares the device out: off, require (CUDA fails without one), "
                "or the path of its directory (default: one is asked where it is)")
        .Shown("off|require|DIR");
    options.Group("What moves");
    options
        .Option("--policy", options_.policy,
                "What is evicted if the queue does not tell: arc, clock, cost, cycle, fifo, lfu, "
                "lru, random, s3fifo or sieve (default: cost)")
        .Shown("NAME")
        .Suggests(PolicyWords());
    options
        .Option("--overlap", options_.overlap,
                "What may move beside running work: auto, off, proven, safe or all. auto lets move "
                "what is known to be safe, and docs/overlap.md says what the others risk (default: "
                "auto)")
        .Shown("HOW")
        .Suggests(OverlapWords());
    options
        .Option("--graphs", options_.graphs,
                "Graphs whose memory does not fit: launched whole, cut into segments of which each "
                "does, or auto: both are tried, and the faster way stays (default: auto)")
        .Shown("auto|whole|cut");
    options
        .Option("--tracer", options_.tracer,
                "How launches are seen: auto, hooks, cupti or off. Nothing moves with off "
                "(default: auto, which takes hooks)")
        .Shown("HOW")
        .Suggests({"auto", "hooks", "cupti", "off"});
    options
        .Option("--profile", options_.profile,
                "Settings that `vramspan tune` found. Options and variables go before them")
        .Shown("FILE");
    options
        .Option("--trust", trust_,
                "Trust files of `vramspan audit`, beside those of VRAMSPAN_TRUST, with colons "
                "between them")
        .Shown("FILE[:FILE...]");
    options
        .Option(
            "--read", options_.read,
            "Whether code that nobody knows is read while the program runs, by NVIDIA's "
            "nvdisasm if it is found: on or off (default: on, where the first process waits for "
            "orphans, as init does)")
        .Shown("on|off");
    options
        .Option("--learned", options_.learned,
                "Whether the run begins with what earlier runs of the program have learned of its "
                "kernels, and adds to it at its end: on or off (default: off)")
        .Shown("on|off");
    options.Flag(
        "--lifetimes", options_.lifetimes,
        "Exchange PyTorch's allocator for the driver's pools (backend:cudaMallocAsync), unless "
        "its own variable is set: for some programs faster while memory is short");
    options.Group("What is written");
    options
        .Flag("--stats{-}", stats_,
              "Print statistics on stderr at the end, or append them to FILE. FILE.json gets a "
              "line of JSON. `--stats FILE` needs -- before the program")
        .Shown("[=FILE]");
    options
        .Option("--record", record_,
                "Write a trace of the run for `vramspan replay`. %p in the name stands for the "
                "process id")
        .Shown("FILE");
    options
        .Option("--record-times", options_.record_times,
                "Which launches are timed: some of each kernel, all or none (default: some)")
        .Shown("some|all|none");
    options
        .Option("--record-events", record_events_,
                "Write what decisions are made from, for `vramspan repeat`. %p as above")
        .Shown("FILE");
    options.Flag("--no-command-line", options_.no_command_line,
                 "Leave the command line out of recordings, because it may hold secrets");
    options.Flag("--force", options_.force, "Let --record and --record-events replace files");
    options.Group("Other");
    options.Flag("--simulate", options_.simulate,
                 "Run on the simulated driver. The program must use the driver API");
    options.Flag("--quiet", options_.quiet, "Print errors alone, no warnings and announcements");
    options.Flag("--off", options_.off, "Pass every call through, as without vramspan");
    options.Footer(
        "The program keeps its exit status, signals and output.\n"
        "An option that is not given is taken from its variable: VRAMSPAN_DEVICE_MEMORY for "
        "--device-memory, and so on. --force has no variable. Variables of --lifetimes, "
        "--no-command-line, --simulate, --quiet and --off hold 1, yes, on or true, or 0, no, off "
        "or false.\n"
        "\n"
        "Exit status\n"
        "  1    the run cannot be set up, or a file cannot be read\n"
        "  2    the command line asks for something that is not there\n"
        "  126  the program cannot be run\n"
        "  127  there is no such program\n"
        "\n"
        "Examples\n"
        "  vramspan run -- python3 train.py\n"
        "  vramspan run --device-memory 50% --stats -- python3 train.py --its-own-option\n"
        "  vramspan run --record out.vramspan -- python3 train.py && vramspan replay out.vramspan\n"
        "\n"
        "Read more: docs/preload.md, docs/budgets.md, docs/overlap.md, docs/trust.md, "
        "docs/learned.md");
  }

  // `--stats FILE` as well as `--stats`, with the program behind it or not: the next word is its
  // value where it is -, or where options of ours and then -- follow it.
  void Respell(std::vector<std::string>* words) override {
    const auto stats = words->begin() + static_cast<std::ptrdiff_t>(Options(*words, 0, "--stats"));
    if (stats == words->end() || *stats != "--stats" || stats + 1 == words->end()) return;
    const std::string value = *(stats + 1);
    if (value != "-") {
      const size_t behind = static_cast<size_t>(stats - words->begin()) + 2;
      const size_t end = Options(*words, behind, "--");
      if (value.starts_with("-") || end == words->size() || (*words)[end] != "--") return;
    }
    *stats += "=" + value;
    words->erase(stats + 1);
  }

  int Run() override {
    if (const std::optional<std::string> option = given_->OptionWithoutValue()) {
      return Refuse(absl::InvalidArgumentError(*option + " needs a value before --"));
    }
    options_.program = absl::StrJoin(command_, " ");
    // The program may go elsewhere before it starts CUDA.
    if (!stats_.empty()) {
      options_.stats = stats_ == "-" ? stats_ : std::filesystem::absolute(stats_).string();
    }
    if (trust_.has_value()) {
      const StatusOr<std::string> paths = run::AbsolutePaths("--trust", *trust_);
      if (!paths.ok()) return Refuse(paths.status());
      options_.trust = *paths;
    }
    const Recording recordings[] = {{"--record", record_, options_.record},
                                    {"--record-events", record_events_, options_.record_events}};
    for (const auto& [option, given, path] : recordings) {
      if (!given.has_value()) continue;
      if (given->empty()) return Refuse(absl::InvalidArgumentError(option + ": '' is not a file"));
      path = std::filesystem::absolute(*given).string();
    }
    const StatusOr<run::Plan> plan =
        run::PlanFor("vramspan run", command_.front(), options_, run::AsksForMore(options_));
    if (!plan.ok()) return Refuse(plan.status());
    std::map<std::string, std::string> variables = *plan;
    // It has this process's variables, and not those of the program.
    const std::unique_ptr<reader::Meeting> meeting = StartReader(*plan);
    unsetenv(run::kReaderVariable);  // Of a program that runs this one.
    if (meeting != nullptr) variables[run::kReaderVariable] = meeting->path();
    for (const auto& [variable, value] : variables) {
      if (setenv(variable.c_str(), value.c_str(), 1) != 0) {
        return Refuse(absl::InternalError(variable + ": " + std::strerror(errno)));
      }
    }
    for (const auto& [option, given, path] : recordings) {
      if (!path.has_value() || !options_.force || !run::FindProgram(command_.front())) continue;
      const Status removed = RemoveRecording(option, *path);
      if (!removed.ok()) return Refuse(removed);
    }
    // What killed programs have left would be there until somebody looks at those that run.
    static_cast<void>(top::Find(top::Places()));
    std::vector<char*> arguments;
    for (std::string& word : command_) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    const int error = errno;
    SayError("vramspan run", command_[0] + ": " + run::WhyNotRun(command_[0], error));
    return error == ENOENT ? kExitNotFound : kExitNotExecutable;
  }

 private:
  struct Recording {
    std::string option;
    const std::optional<std::string>& given;
    std::optional<std::string>& path;  // The same, absolute.
  };

  // The first word from `at` on that is `stop`, or no option of ours with its value.
  size_t Options(const std::vector<std::string>& words, size_t at, std::string_view stop) const {
    for (; at < words.size() && words[at] != stop && words[at].size() > 1 && words[at][0] == '-';
         ++at) {
      const std::optional<bool> takes_value = given_->TakesValue(words[at]);
      if (words[at] == "--" || (!takes_value && !absl::StrContains(words[at], '='))) break;
      if (takes_value.value_or(false) && words[at] != "--stats") ++at;
    }
    return std::min(at, words.size());
  }

  // Null: it would change nothing, or it cannot be.
  std::unique_ptr<reader::Meeting> StartReader(const run::Plan& plan) const {
    const auto variable = [](const char* name) -> const char* { return std::getenv(name); };
    if (!run::ReadingMatters(plan, variable) || !run::FindProgram(command_.front())) return nullptr;
    return run::StartReader(run::ReadingIsWanted(plan, variable));
  }

  static int Refuse(const Status& status) {
    SayError("vramspan run", status.message());
    return absl::IsInvalidArgument(status) ? kExitUsage : kExitFailure;
  }

  std::optional<CommandOptions> given_;
  run::Options options_;
  std::string stats_;
  std::optional<std::string> record_, record_events_, trust_;
  std::vector<std::string> command_;
};

VRAMSPAN_COMMAND(RunCommand);

}  // namespace
}  // namespace vramspan
