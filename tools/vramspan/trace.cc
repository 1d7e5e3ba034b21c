// `vramspan trace`: looks into recorded runs.
#include <string>

#include "tools/vramspan/trace_action.h"

namespace vramspan {
namespace {

class TraceCommand final : public ActionsCommand {
 public:
  std::string name() const override { return "trace"; }
  std::string summary() const override { return "Look into a recorded run"; }

  void Define(CommandOptions& options) override {
    options.Footer(
        "Exit status\n"
        "  0  done as asked\n"
        "  1  a trace cannot be read, or not all of it, or a file cannot be written\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan trace info out.vramspan          # who was recorded, where, and how much\n"
        "  vramspan trace stats out.vramspan         # what each kernel took and touched\n"
        "  vramspan trace curves out.vramspan        # how often each policy would miss\n"
        "  vramspan trace dump out.vramspan          # every event, a line each\n"
        "  vramspan trace export out.vramspan --perfetto out.pftrace\n"
        "  vramspan trace import --pytorch-et et.json.gz -o et.vramspan\n"
        "\n"
        "Read more: docs/replay.md, docs/trace-format.md");
    Offer(options,
          {&trace_command::MakeInfo, &trace_command::MakeStats, &trace_command::MakeCurves,
           &trace_command::MakeDump, &trace_command::MakeExport, &trace_command::MakeImport});
  }
};

VRAMSPAN_COMMAND(TraceCommand);

}  // namespace
}  // namespace vramspan
