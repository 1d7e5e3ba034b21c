// `vramspan trace`: looks into recorded runs.
#include <map>
#include <vector>

#include "tools/vramspan/command.h"
#include "tools/vramspan/trace_action.h"

namespace vramspan {
namespace {

class TraceCommand final : public Command {
 public:
  std::string name() const override { return "trace"; }
  std::string summary() const override { return "Look into a recorded run"; }

  void Define(CLI::App& app) override {
    app.require_subcommand(1);
    app.footer(
        "Examples\n"
        "  vramspan trace info out.vramspan            who was recorded, where, and how much\n"
        "  vramspan trace stats out.vramspan           what each kernel took and touched\n"
        "  vramspan trace curves out.vramspan          how often each policy would miss\n"
        "  vramspan trace dump out.vramspan | less     every event, a line each\n"
        "  vramspan trace export out.vramspan --perfetto out.pftrace\n"
        "  vramspan trace import --pytorch-et et.json.gz -o out.vramspan");
    for (auto make :
         {&trace_command::MakeInfo, &trace_command::MakeStats, &trace_command::MakeCurves,
          &trace_command::MakeDump, &trace_command::MakeExport, &trace_command::MakeImport}) {
      actions_.push_back(make());
      by_app_[actions_.back()->Define(app)] = actions_.back().get();
    }
    app_ = &app;
  }

  int Run() override {
    const CLI::App* const chosen = app_->get_subcommands().front();
    const Status status = by_app_.at(chosen)->Run();
    if (status.ok()) return kExitOk;
    SayError("vramspan trace " + chosen->get_name(), status.message());
    return absl::IsInvalidArgument(status) ? kExitUsage : kExitFailure;
  }

 private:
  CLI::App* app_ = nullptr;
  std::vector<std::unique_ptr<trace_command::Action>> actions_;
  std::map<const CLI::App*, trace_command::Action*> by_app_;
};

VRAMSPAN_COMMAND(TraceCommand);

}  // namespace
}  // namespace vramspan
