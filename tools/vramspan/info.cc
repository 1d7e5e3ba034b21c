// `vramspan info`: can vramspan work here, and what does moving cost?
#include <iostream>

#include "tools/vramspan/command.h"
#include "tools/vramspan/info_issue.h"
#include "tools/vramspan/info_report.h"

namespace vramspan {
namespace {

class InfoCommand final : public Command {
 public:
  std::string name() const override { return "info"; }
  std::string summary() const override {
    return "Show what this machine's GPUs can do, and what moving memory costs";
  }

  void Define(CommandOptions& options) override {
    options.Flag("--simulate", options_.simulate, "Ask the simulated driver, which needs no GPU");
    options.Option("--device", options_.device, "Show only the device with this number, from 0")
        .Within(0, 1023)
        .Shown("N");
    options.Flag("--measure", options_.measure,
                 "Measure the costs again, instead of showing the figures of an earlier run");
    options.Option("--format", options_.format, "How the result is printed")
        .OneOf({"table", "json", "issue"})
        .ShowDefault();
    options.Footer(
        "Kernels try whether the GPU reads, writes and updates host memory. Then the cost of "
        "moving a chunk is measured. The figures are kept in ~/.cache/vramspan, one file a device, "
        "for runtimes and replays. The last line is a verdict.\n"
        "\n"
        "`--format issue` prints a block to paste into an issue. It names no user, host or folder "
        "of a user, no device's id, and of the environment only the names of vramspan's "
        "variables.\n"
        "\n"
        "Exit status\n"
        "  0  vramspan works on at least one device shown\n"
        "  1  vramspan works on none; a sentence on stderr says what is missing\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan info\n"
        "  vramspan info --simulate\n"
        "  vramspan info --format issue\n"
        "  vramspan info --format json > info.json\n"
        "\n"
        "Read more: docs/budgets.md");
  }

  int Run() override {
    const auto report = info::MakeReport(options_);
    if (!report.ok()) {
      if (options_.format == "issue" && !absl::IsInvalidArgument(report.status())) {
        std::cout << info::ToIssue(report.status());
      }
      SayError("vramspan info", report.status().message());
      return absl::IsInvalidArgument(report.status()) ? kExitUsage : kExitFailure;
    }
    std::cout << (options_.format == "json"    ? ToJson(*report)
                  : options_.format == "issue" ? ToIssue(*report)
                                               : ToTable(*report));
    if (report->AnyWorks()) return kExitOk;
    for (const info::DeviceReport& device : report->devices) {
      SayError("vramspan info", device.works.message());
    }
    return kExitFailure;
  }

 private:
  info::Options options_;
};

VRAMSPAN_COMMAND(InfoCommand);

}  // namespace
}  // namespace vramspan
