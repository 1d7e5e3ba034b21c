// `vramspan trace export`: traces for the tools of others.
#include "tools/replay/chunked_run.h"
#include "tools/replay/export_perfetto.h"
#include "tools/replay/load_run.h"
#include "tools/replay/new_file.h"
#include "tools/replay/oracle_general.h"
#include "tools/vramspan/damage.h"
#include "tools/vramspan/option_words.h"
#include "tools/vramspan/replay_options.h"
#include "tools/vramspan/trace_action.h"

namespace vramspan::trace_command {
namespace {

class Export final : public Action {
 public:
  std::string name() const override { return "export"; }

  void Define(CommandOptions& trace) override {
    CommandOptions options = trace.Action(name(), "Write a trace for other tools");
    options.Option("trace", path_, "A trace of `vramspan run --record`").Required().Shown("FILE");
    options.Option("--perfetto", perfetto_, "Write a file for ui.perfetto.dev; - is stdout")
        .Shown("FILE");
    options
        .Option("--oracle-general", oracle_,
                "Write a file for libCacheSim: each chunk that work names is a request")
        .Shown("FILE");
    options
        .Option("--chunk", chunk_,
                "The size of those chunks: auto, or a power of two from 2MiB to 64MiB")
        .Shown("SIZE")
        .Suggests(ChunkWords())
        .ShowDefault();
    options.Flag("--force", force_, "Replace files that are there");
    options.Footer(
        "Exit status\n"
        "  0  the files are written\n"
        "  1  the trace cannot be read, or not all of it, or a file cannot be written\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan trace export out.vramspan --perfetto out.pftrace\n"
        "  vramspan trace export out.vramspan --oracle-general out.bin --chunk 2MiB\n"
        "\n"
        "Read more: docs/replay.md");
  }

  Status Run() override {
    if (perfetto_.empty() && oracle_.empty()) {
      return absl::InvalidArgumentError("say what to write: --perfetto or --oracle-general");
    }
    VS_ASSIGN_OR_RETURN(const std::vector<int> chunks, replay::ParseChunks(chunk_));
    if (chunks.size() != 1) return absl::InvalidArgumentError("--chunk takes one size here");
    for (const std::string& output : {perfetto_, oracle_}) {
      VS_RETURN_IF_ERROR(replay::RefuseSameFile(output, path_, "what is read"));
    }
    VS_RETURN_IF_ERROR(replay::RefuseSameFile(oracle_, perfetto_, "what --perfetto writes"));
    VS_ASSIGN_OR_RETURN(const replay::RecordedRun run, replay::LoadRun(path_));
    SayProblems(path_, run.notes);
    SayProblems(path_, run.problems);
    if (!perfetto_.empty()) VS_RETURN_IF_ERROR(ExportPerfetto(run, perfetto_, force_));
    if (!oracle_.empty()) {
      const replay::ChunkedRun chunked(&run, chunks.front(), run.PeakBytes());
      VS_RETURN_IF_ERROR(SaveOracleGeneral(chunked, oracle_, force_));
    }
    return CheckWhole(path_, run.problems);
  }

 private:
  std::string path_, perfetto_, oracle_, chunk_ = "auto";
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeExport() { return std::make_unique<Export>(); }

}  // namespace vramspan::trace_command
