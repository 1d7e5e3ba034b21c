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
#include "tools/replay/report_input.h"
#include "tools/vramspan/command.h"

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
    app.add_option("input", input_, "What `vramspan replay --format json` printed")->required();
    app.add_option("-o,--output", output_, "The HTML page to write")->required();
    app.add_flag("--force", force_, "Overwrite the page if it is there");
    app.add_option("--title", title_, "The page's title (default: the name of the trace)");
    app.footer(
        "The page needs no network and no other file.\n"
        "\n"
        "Example\n"
        "  vramspan replay out.vramspan --timeline --format json > replay.json\n"
        "  vramspan report replay.json -o report.html");
  }

  int Run() override {
    const Status done = Write();
    if (done.ok()) return kExitOk;
    Log(LogLevel::kError, done.message());
    return kExitFailure;
  }

 private:
  Status Write() const {
    std::error_code error;
    if (!force_ && fs::exists(output_, error)) {
      return absl::AlreadyExistsError(
          absl::StrCat(output_, " is there already; --force overwrites it"));
    }
    VS_ASSIGN_OR_RETURN(const nlohmann::json replay, replay::ReadReplayFile(input_));
    std::ostringstream page;
    const Status made = replay::WriteReport(replay, title_, page);
    if (!made.ok()) return Status(made.code(), absl::StrCat(input_, ": ", made.message()));
    return WriteFile(output_, page.str());
  }

  std::string input_, output_, title_;
  bool force_ = false;
};

VRAMSPAN_COMMAND(ReportCommand);

}  // namespace
}  // namespace vramspan
