// `vramspan trace curves`: how often each policy would miss, by the size of device memory.
#include <absl/strings/str_format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "tools/replay/curves.h"
#include "tools/replay/curves_json.h"
#include "tools/replay/load_run.h"
#include "tools/vramspan/amount_text.h"
#include "tools/vramspan/damage.h"
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
    CommandOptions options = trace.Action(name(), "How often each policy would miss, by memory");
    options.Option("trace", path_, "A recorded run").Required();
    options.Option("--policy", policies_, "all, or a list of policies and min").ShowDefault();
    options.Option("--chunk", chunks_, "The unit that moves: a list of auto and 2MiB to 64MiB")
        .ShowDefault();
    options.Option("--points", points_, "So many sizes of device memory")
        .Within(2, 1000)
        .ShowDefault();
    options.Option("--format", format_, "table, csv or json")
        .OneOf({"table", "csv", "json"})
        .ShowDefault();
    options.Footer(
        "Each policy as a plain cache, chunk by chunk, without look-ahead and without prices; what "
        "a\n"
        "run would have cost is what `vramspan replay` says. In %: accesses that did not find "
        "their\n"
        "chunk, first touches aside. min: the least that anybody could have.");
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
