// `vramspan demo`: a program with more data than device memory, run to a verified result.
#include <iostream>

#include "tools/vramspan/command.h"
#include "tools/vramspan/demo_run.h"
#include "tools/vramspan/option_words.h"

namespace vramspan {
namespace {

class DemoCommand final : public Command {
 public:
  std::string name() const override { return "demo"; }
  std::string summary() const override {
    return "Run a program with more data than device memory, and check every byte";
  }

  void Define(CommandOptions& options) override {
    options.Group("Size");
    options
        .Option("--device-memory", options_.device_memory,
                "Device memory for the program, as 4GiB, or 25% of the device (default: half of "
                "--data)")
        .Shown("SIZE");
    options
        .Option("--data", options_.data,
                "How much data the program has (default: twice --device-memory, else 8GiB on a "
                "GPU, 32MiB simulated)")
        .Shown("SIZE");
    options
        .Option("--chunk", options_.chunk,
                "The unit that moves: auto, or a power of two from 2MiB to 64MiB (default: auto)")
        .Shown("SIZE")
        .Suggests(ChunkWords());
    options.Flag("--quick", options_.quick, "Use less data, fewer rounds and fewer budgets");
    options.Group("What moves");
    options
        .Option("--policy", options_.policy,
                "What is evicted if the queue does not tell: arc, clock, cost, cycle, fifo, lfu, "
                "lru, random, s3fifo or sieve (default: cost)")
        .Shown("NAME")
        .Suggests(PolicyWords());
    options
        .Option(
            "--overlap", options_.overlap,
            "What may move beside traced launches: auto, off, proven, safe or all (default: auto)")
        .Shown("HOW")
        .Suggests(OverlapWords());
    options.Flag("--declare", options_.declare,
                 "Declare what each launch touches (default: only if launches cannot be traced)");
    options.Group("Device and output");
    options.Option("--device", options_.device, "Which GPU, from 0").Shown("N").ShowDefault();
    options.Flag("--simulate", options_.simulate,
                 "Use the simulated driver even if there is a GPU");
    options.Option("--format", options_.format, "How the result is printed")
        .Shown("table|json")
        .ShowDefault();
    options.Footer(
        "The demo runs one program without a limit, then with budgets of 100, 75, 50 and 25 % of "
        "its data. It compares every byte of the results. It uses the GPU if there is one, else "
        "the simulated driver.\n"
        "The program declares nothing if CUPTI can trace its launches. The table says whether they "
        "were traced or declared.\n"
        "\n"
        "Exit status\n"
        "  0  all results are identical\n"
        "  1  a result differs, or the demo could not run\n"
        "  2  the command line asks for something that is not there\n"
        "\n"
        "Examples\n"
        "  vramspan demo\n"
        "  vramspan demo --simulate --quick\n"
        "  vramspan demo --simulate --chunk 2MiB --policy clock --format json\n"
        "\n"
        "Read more: README.md, docs/overlap.md");
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
