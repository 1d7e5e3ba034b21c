// `vramspan trace curves`: how often each policy would miss, by the size of device memory.
#include <absl/strings/str_format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "tools/replay/curves.h"
#include "tools/replay/curves_json.h"
#include "tools/replay/load_run.h"
#include "tools/vramspan/amount_text.h"
#include "tools/vramspan/damage.h"
#include "tools/vramspan/option_words.h"
#include "tools/vramspan/replay_options.h"
#include "tools/vramspan/replay_progress.h"
#include "tools/vramspan/trace_action.h"

namespace vramspan::trace_command {
namespace {

using replay::Curve;

class Curves final : public Action {
 public:
  std::string name() const override { return "curves"; }

  void Define(CommandOptions& trace) override {
    CommandOptions options =
        trace.Action(name(), "Show how often each policy would miss, by memory");
    options.Option("trace", path_, "A trace of `vramspan run --record`").Required().Shown("FILE");
    options
        .Option("--policy", policies_, "all, or a list of policies and min, which knows the future")
        .Shown("NAMES")
        .SuggestsListOf(PolicyWords({"all", "min"}))
        .ShowDefault();
    options
        .Option("--chunk", chunks_,
                "The unit that moves: a list of auto and powers of two from 2MiB to 64MiB")
        .Shown("SIZES")
        .SuggestsListOf(ChunkWords())
        .ShowDefault();
    options.Option("--points", points_, "How many sizes of device memory, 2 to 1000")
        .Within(2, 1000)
        .Shown("N")
        .ShowDefault();
    options.Option("--format", format_, "How the result is printed")
        .OneOf({"table", "csv", "json"})
        .ShowDefault();
    options.Footer(
        "Each policy runs as a plain cache of chunks, without look-ahead and without prices. "
        "`vramspan replay` says what a run would have cost. The table has, in %, the accesses that "
        "did not find their chunk. First touches do not count. min is the least that is possible.\n"
        "\n"
        "Exit status\n"
        "  0  the trace was read whole\n"
        "  1  the trace cannot be read, or not all of it; the rest is shown\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan trace curves out.vramspan\n"
        "  vramspan trace curves out.vramspan --policy lru,cost,min --chunk 2MiB\n"
        "\n"
        "Read more: docs/replay.md");
  }

  Status Run() override {
    replay::CurveOptions options{.trace = path_, .points = points_};
    VS_ASSIGN_OR_RETURN(options.policies, replay::ParsePolicies(policies_));
    VS_ASSIGN_OR_RETURN(options.chunk_log2, replay::ParseChunks(chunks_));
    VS_ASSIGN_OR_RETURN(const replay::RecordedRun run, replay::LoadRun(path_));
    SayProblems(path_, run.notes);
    SayProblems(path_, run.problems);
    auto progress = std::make_unique<replay::Progress>(path_, 0);
    options.progress = [&](double part) { progress->Curves(part); };
    VS_ASSIGN_OR_RETURN(const std::vector<Curve> curves, replay::MakeCurves(run, options));
    progress.reset();  // The line is free for results.
    if (format_ == "csv") {
      std::cout << replay::CurvesToCsv(curves);
    } else if (format_ == "json") {
      nlohmann::json all = nlohmann::json::array();
      for (const Curve& curve : curves) all.push_back(replay::CurveToJson(curve));
      std::cout << nlohmann::json{{"curves", all}}.dump(2, ' ', true,
                                                        nlohmann::json::error_handler_t::replace)
                << "\n";
    } else {
      Table(curves, options.policies.size());
    }
    return CheckWhole(path_, run.problems);
  }

 private:
  // One for each chunk size: a line for each size of memory, a column for each policy.
  static void Table(const std::vector<Curve>& curves, size_t policies) {
    for (size_t first = 0; first < curves.size(); first += policies) {
      const Curve& any = curves[first];
      std::cout << absl::StrFormat(
          "%s%s chunks: %d accesses, %s\n%10s", first == 0 ? "" : "\n",
          any.chunk_log2 == 0 ? "auto" : SizeText(ChunkBytes(any.chunk_log2).value), any.accesses,
          SizeText(any.distinct.value), "memory");
      for (size_t p = 0; p < policies; ++p) {
        std::cout << absl::StrFormat(" %7s", curves[first + p].policy);
      }
      std::cout << "\n";
      for (size_t i = 0; i < any.points.size(); ++i) {
        std::cout << absl::StrFormat("%10s", SizeText(any.points[i].device_memory.value));
        for (size_t p = 0; p < policies; ++p) {
          std::cout << absl::StrFormat(" %7.2f", 100 * curves[first + p].points[i].miss_ratio);
        }
        std::cout << "\n";
      }
      for (size_t p = 0; p < policies; ++p) {
        const Curve& curve = curves[first + p];
        if (!curve.sampled) continue;
        std::cout << absl::StrFormat("%s: from a sample, off by %.2f %% (standard error)\n",
                                     curve.policy, 100 * curve.error);
      }
    }
  }

  std::string path_, policies_ = "all", chunks_ = "auto", format_ = "table";
  uint32_t points_ = 20;
};

}  // namespace

std::unique_ptr<Action> MakeCurves() { return std::make_unique<Curves>(); }

}  // namespace vramspan::trace_command
