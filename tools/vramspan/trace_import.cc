// `vramspan trace import`: runs that others recorded, as traces.
#include <absl/strings/str_format.h>

#include <iostream>

#include "tools/replay/import_pytorch.h"
#include "tools/replay/load_trace.h"
#include "tools/replay/new_file.h"
#include "tools/replay/oracle_general.h"
#include "tools/vramspan/amount_text.h"
#include "tools/vramspan/damage.h"
#include "tools/vramspan/trace_action.h"

namespace vramspan::trace_command {
namespace {

using replay::RecordedRun;

std::string Share(uint64_t part, const char* of_what) {
  return absl::StrFormat("  %10d  %s\n", part, of_what);
}

void Print(const replay::PytorchSummary& s) {
  std::cout << absl::StrFormat("nodes %12d\n", s.nodes)
            << Share(s.works, "operators that touch memory of the GPU: work")
            << Share(s.parents, "operators made of others")
            << Share(s.views, "views, allocations and wrappers, which touch none")
            << Share(s.elsewhere, "without a tensor on the GPU")
            << absl::StrFormat("tensors %10d  named, of %d storages\n", s.tensors, s.storages)
            << absl::StrFormat("allocations %6d  of %s, %d of them from before the trace\n",
                               s.allocations, SizeText(s.allocated.value), s.there_before)
            << absl::StrFormat("peak %17s\n", SizeText(s.peak_live.value));
}

class Import final : public Action {
 public:
  std::string name() const override { return "import"; }

  void Define(CommandOptions& trace) override {
    CommandOptions options = trace.Action(name(), "Make a trace of what other tools recorded");
    const CommandOption pytorch =
        options.Option("--pytorch-et", pytorch_, "A PyTorch execution trace (JSON)").Shown("FILE");
    options
        .Option(
            "--profile", profile_,
            "With --pytorch-et: the times, which torch.profiler exported of the same run (JSON)")
        .Shown("FILE")
        .Needs(pytorch);
    options.Option("--oracle-general", oracle_, "A cache trace of libCacheSim's oracleGeneral")
        .Shown("FILE")
        .Excludes(pytorch);
    options.Option("-o,--output", output_, "The trace to write").Required().Shown("FILE");
    options.Flag("--force", force_, "Let --output replace a file");
    options.Footer(
        "PyTorch: torch.profiler.ExecutionTraceObserver writes execution traces. Storages become "
        "allocations, and operators become work. Without --profile times are estimates for an "
        "H100.\n"
        "libCacheSim: objects become allocations of 2 MiB and more, and requests become work.\n"
        "Files may be packed by gzip or zstd. `vramspan replay` takes them too, without an "
        "import.\n"
        "\n"
        "Exit status\n"
        "  0  the trace is written\n"
        "  1  the input cannot be read, or not all of it, or the trace cannot be written\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan trace import --pytorch-et et.json.gz --profile trace.json -o et.vramspan\n"
        "  vramspan trace import --oracle-general cache.bin -o cache.vramspan\n"
        "\n"
        "Read more: docs/replay.md");
  }

  Status Run() override {
    if (pytorch_.empty() == oracle_.empty()) {
      return absl::InvalidArgumentError("say what to import: --pytorch-et or --oracle-general");
    }
    if (output_ == "-") {
      return absl::InvalidArgumentError("-o: a trace goes into a file, not to stdout");
    }
    for (const std::string& input : {pytorch_, oracle_, profile_}) {
      VS_RETURN_IF_ERROR(replay::RefuseSameFile(output_, input, "what is read"));
    }
    if (!oracle_.empty()) {
      VS_ASSIGN_OR_RETURN(const RecordedRun run, replay::LoadOracleGeneral(oracle_));
      VS_RETURN_IF_ERROR(Save(run, oracle_));
      std::cout << absl::StrFormat("requests %8d\nobjects %9d  of %s together\n", run.works.size(),
                                   run.allocations.size(), SizeText(run.PeakBytes().value));
      return CheckWhole(oracle_, run.problems);
    }
    VS_ASSIGN_OR_RETURN(const replay::PytorchImport import,
                        replay::ImportPytorch(pytorch_, profile_));
    VS_RETURN_IF_ERROR(Save(import.run, pytorch_));
    Print(import.summary);
    std::cout << absl::StrFormat("time %17s  %s\n", TimeText(import.run.Duration()),
                                 import.run.setting.estimated_times ? "estimated" : "measured");
    return CheckWhole(pytorch_, import.run.problems);
  }

 private:
  Status Save(const RecordedRun& run, const std::string& from) const {
    SayProblems(from, run.notes);
    SayProblems(from, run.problems);
    return replay::SaveTrace(run, output_, force_);
  }

  std::string pytorch_, oracle_, profile_, output_;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeImport() { return std::make_unique<Import>(); }

}  // namespace vramspan::trace_command
