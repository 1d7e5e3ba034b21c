// `vramspan demo`: a program with more data than device memory, run to a verified result.
#include <iostream>

#include "tools/vramspan/command.h"
#include "tools/vramspan/demo_run.h"

namespace vramspan {
namespace {

class DemoCommand final : public Command {
 public:
  std::string name() const override { return "demo"; }
  std::string summary() const override {
    return "Run a program with twice as much data as device memory, and check every byte";
  }

  void Define(CommandOptions& options) override {
    options.Option("--device-memory", options_.device_memory,
                   "Device memory the program gets: 4GiB, or 25% of the device's; its data are "
                   "twice that (default: half of --data)");
    options.Option("--data", options_.data,
                   "How much data the program has (default: twice --device-memory, else 8GiB on a "
                   "GPU, 256MiB simulated)");
    options.Option("--chunk", options_.chunk, "The unit that moves: auto, or 2MiB to 64MiB");
    options.Option("--policy", options_.policy,
                   "Who leaves when the queue does not tell: arc, clock, cost, cycle, fifo, lfu, "
                   "lru, random, s3fifo or sieve");
    options.Option("--overlap", options_.overlap,
                   "What may move beside traced launches: off, safe or all (default: safe, which "
                   "is right for this program; docs/overlap.md)");
    options.Flag("--declare", options_.declare,
                 "The program declares what each launch touches (default: only where launches "
                 "cannot be traced)");
    options.Option("--format", options_.format, "table or json").ShowDefault();
    options.Option("--device", options_.device, "Which GPU").ShowDefault();
    options.Flag("--simulate", options_.simulate,
                 "Use the simulated driver even if there is a GPU");
    options.Flag("--quick", options_.quick, "Less data, fewer rounds, fewer budgets");
    options.Footer(
        "Runs one program without a limit, then with budgets of 100, 75, 50 and 25 % of its data, "
        "and\n"
        "compares every byte of all data. Uses the GPU if there is one, else the simulated "
        "driver.\n"
        "The program allocates, launches and copies; where launches can be traced (CUPTI) it "
        "declares\n"
        "nothing, and the table says which of the two it was.\n"
        "Exit code 0: all results are identical; 1: they are not, or the demo could not run; 2: "
        "the\n"
        "command line asks for what is not there.\n"
        "\n"
        "Examples\n"
        "  vramspan demo --device-memory 4GiB\n"
        "  vramspan demo --simulate --chunk 2MiB --policy clock --format json");
  }

  int Run() override {
    const StatusOr<bool> identical = demo::RunDemo(options_);
    if (!identical.ok()) {
      std::cerr << "vramspan demo: " << identical.status().message() << "\n";
      return absl::IsInvalidArgument(identical.status()) ? kExitUsage : kExitFailure;
    }
    return *identical ? kExitOk : kExitFailure;
  }

 private:
  demo::Options options_;
};

VRAMSPAN_COMMAND(DemoCommand);

}  // namespace
}  // namespace vramspan
