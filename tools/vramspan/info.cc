// `vramspan info`: can vramspan work here, and what does moving cost?
#include <iostream>

#include "runtime/base/log.h"
#include "tools/vramspan/command.h"
#include "tools/vramspan/info_report.h"

namespace vramspan {
namespace {

class InfoCommand final : public Command {
 public:
  std::string name() const override { return "info"; }
  std::string summary() const override {
    return "What the GPUs of this machine can do, and what moving memory costs on them";
  }

  void Define(CommandOptions& options) override {
    options.Flag("--simulate", options_.simulate, "Ask the simulated driver, which needs no GPU");
    options.Option("--device", options_.device, "Only the device with this number").Within(0, 1023);
    options.Option("--format", options_.format, "table or json")
        .OneOf({"table", "json"})
        .ShowDefault();
    options.Flag("--measure", options_.measure,
                 "Measure the costs again, although there are figures of an earlier run");
    options.Footer(
        "Tries with real kernels whether the GPU reads, writes and updates host memory, and "
        "measures\n"
        "what a chunk costs; the figures are kept in ~/.cache/vramspan, one file a device.\n"
        "Exit code 0: vramspan works on at least one device shown; 1: it does not, and a sentence "
        "on\n"
        "stderr says what is missing.\n"
        "\n"
        "Example\n"
        "  vramspan info --format json | jq '.devices[0].costs.copy_gb_per_s'");
  }

  int Run() override {
    const auto report = info::MakeReport(options_);
    if (!report.ok()) {
      Log(LogLevel::kError, report.status().message());
      return absl::IsInvalidArgument(report.status()) ? kExitUsage : kExitFailure;
    }
    std::cout << (options_.format == "json" ? ToJson(*report) : ToTable(*report));
    if (report->AnyWorks()) return kExitOk;
    for (const info::DeviceReport& device : report->devices) {
      Log(LogLevel::kError, device.works.message());
    }
    return kExitFailure;
  }

 private:
  info::Options options_;
};

VRAMSPAN_COMMAND(InfoCommand);

}  // namespace
}  // namespace vramspan
