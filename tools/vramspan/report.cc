// `vramspan report`: one page that shows what a replay found.
#include "tools/replay/report.h"

#include <absl/strings/str_cat.h>

#include <sstream>
#include <string>

#include "tools/replay/new_file.h"
#include "tools/replay/report_input.h"
#include "tools/vramspan/command.h"
#include "tools/vramspan/damage.h"
#include "tools/vramspan/replay_options.h"
#include "tools/vramspan/report_trace.h"

namespace vramspan {
namespace {

class ReportCommand final : public Command {
 public:
  std::string name() const override { return "report"; }
  std::string summary() const override {
    return "Write a page of what less memory, another policy or other chunks cost";
  }

  void Define(CommandOptions& options) override {
    options
        .Option(
            "input", input_,
            "What `vramspan replay --format json` printed, of one program or with --broker, or a "
            "trace, which is replayed first")
        .Required()
        .Shown("FILE");
    options.Option("-o,--output", output_, "The HTML page to write; - is stdout")
        .Required()
        .Shown("FILE");
    options.Flag("--force", force_, "Let --output replace a file");
    options.Option("--title", title_, "The page's title (default: the name of the trace)")
        .Shown("TEXT");
    options
        .Option("--prices", prices_file_,
                "For a trace: a file with the device's costs: the output of `vramspan info "
                "--format json`, or one of ~/.cache/vramspan (default: the recorded device's costs "
                "if `vramspan info` measured them on this machine, else an H100's)")
        .Shown("FILE");
    options.Footer(
        "The page needs no network and no other file. A trace is replayed with all policies, three "
        "chunk sizes and six budgets. `vramspan replay` can try others. The page shows what could "
        "be read of a damaged trace.\n"
        "\n"
        "Exit status\n"
        "  0  the page is written\n"
        "  1  the input cannot be read, or not all of it, or the page cannot be written\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan report out.vramspan -o report.html\n"
        "  vramspan replay out.vramspan --timeline --curves --format json > replay.json\n"
        "  vramspan report replay.json -o replay.html\n"
        "\n"
        "Read more: docs/report.md");
  }

  int Run() override {
    const Status done = Write();
    if (done.ok()) return kExitOk;
    // A synthetic run is part of the command line.
    const bool usage = IsSynthetic() && absl::IsInvalidArgument(done);
    return Failed(done, usage ? kExitUsage : kExitFailure);
  }

 private:
  static int Failed(const Status& why, int exit) {
    SayError("vramspan report", why.message());
    return exit;
  }

  Status Write() const {
    VS_RETURN_IF_ERROR(replay::RefuseSameFile(output_, input_, "what is read"));
    // Better told now than behind all the replays.
    VS_RETURN_IF_ERROR(replay::CheckNewFile(output_, force_));
    VS_ASSIGN_OR_RETURN(const nlohmann::json replay, Input());
    std::ostringstream page;
    const Status made = replay::WriteReport(replay, title_, page);
    if (!made.ok()) return Status(made.code(), absl::StrCat(input_, ": ", made.message()));
    VS_RETURN_IF_ERROR(replay::WriteNewFile(output_, force_, page.str()));
    if (IsReplay()) return absl::OkStatus();
    return CheckWhole(input_, replay.at("trace").at("problems").get<std::vector<std::string>>());
  }

  StatusOr<nlohmann::json> Input() const {
    if (IsReplay()) return replay::ReadReplayFile(input_);
    return replay::ReplayForReport(input_, prices_file_);
  }
  bool IsReplay() const { return !IsSynthetic() && replay::LooksLikeJson(input_); }
  bool IsSynthetic() const { return input_.starts_with("synthetic:"); }

  std::string input_, output_, title_, prices_file_;
  bool force_ = false;
};

VRAMSPAN_COMMAND(ReportCommand);

}  // namespace
}  // namespace vramspan
