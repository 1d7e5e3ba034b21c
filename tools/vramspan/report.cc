// `vramspan report`: one page that shows what a replay found.
#include "tools/replay/report.h"

#include <absl/strings/str_cat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <system_error>

#include "runtime/base/log.h"
#include "tools/replay/new_file.h"
#include "tools/replay/report_input.h"
#include "tools/vramspan/command.h"
#include "tools/vramspan/replay_options.h"
#include "tools/vramspan/report_trace.h"

namespace vramspan {
namespace {

namespace fs = std::filesystem;

Status WriteFile(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": cannot be written: ", std::strerror(errno)));
}

class ReportCommand final : public Command {
 public:
  std::string name() const override { return "report"; }
  std::string summary() const override {
    return "One page that shows what less memory, another policy or other chunks would cost";
  }

  void Define(CLI::App& app) override {
    app.add_option(
           "input", input_,
           "What `vramspan replay --format json` printed, or a trace, which is replayed first")
        ->required()
        ->type_name("REPLAY.json|TRACE");
    app.add_option("-o,--output", output_, "The HTML page to write")->required();
    app.add_flag("--force", force_, "Overwrite the page if it is there");
    app.add_option("--title", title_, "The page's title (default: the name of the trace)");
    app.add_option(
        "--prices", prices_file_,
        "With a trace: what things cost on the device, a file of `vramspan info` "
        "(default: the recorded device's, where `vramspan info` measured it on this machine, "
        "else an H100's)");
    app.footer(
        "The page needs no network and no other file. A trace is replayed with all policies, three "
        "sizes of\n"
        "chunk and six budgets; `vramspan replay` can try others.\n"
        "\n"
        "Examples\n"
        "  vramspan report out.vramspan -o report.html\n"
        "  vramspan replay out.vramspan --timeline --format json > replay.json\n"
        "  vramspan report replay.json -o report.html");
  }

  int Run() override {
    if (!prices_file_.empty()) {
      const Status prices = replay::ReadReplayPrices(prices_file_).status();
      if (!prices.ok()) return Failed(prices, kExitFailure);
    }
    const Status done = Write();
    if (done.ok()) return kExitOk;
    // A synthetic run is part of the command line.
    const bool usage = IsSynthetic() && absl::IsInvalidArgument(done);
    return Failed(done, usage ? kExitUsage : kExitFailure);
  }

 private:
  static int Failed(const Status& why, int exit) {
    Log(LogLevel::kError, why.message());
    return exit;
  }

  Status Write() const {
    std::error_code error;
    if (!force_ && fs::exists(output_, error)) {
      return absl::AlreadyExistsError(
          absl::StrCat(output_, " is there already; --force overwrites it"));
    }
    VS_RETURN_IF_ERROR(replay::RefuseSameFile(output_, input_, "what is read"));
    VS_ASSIGN_OR_RETURN(const nlohmann::json replay, Input());
    std::ostringstream page;
    const Status made = replay::WriteReport(replay, title_, page);
    if (!made.ok()) return Status(made.code(), absl::StrCat(input_, ": ", made.message()));
    return WriteFile(output_, page.str());
  }

  StatusOr<nlohmann::json> Input() const {
    if (!IsSynthetic() && replay::LooksLikeJson(input_)) return replay::ReadReplayFile(input_);
    return replay::ReplayForReport(input_, prices_file_);
  }
  bool IsSynthetic() const { return input_.starts_with("synthetic:"); }

  std::string input_, output_, title_, prices_file_;
  bool force_ = false;
};

VRAMSPAN_COMMAND(ReportCommand);

}  // namespace
}  // namespace vramspan
