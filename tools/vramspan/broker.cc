// `vramspan broker`: shares a GPU's memory among several programs.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/vramspan/broker_action.h"
#include "tools/vramspan/command.h"

namespace vramspan {
namespace {

class BrokerCommand final : public Command {
 public:
  std::string name() const override { return "broker"; }
  std::string summary() const override {
    return "Share a GPU's memory among several programs by weights";
  }

  void Define(CommandOptions& options) override {
    options.Footer(
        "Exit status\n"
        "  0  done as asked\n"
        "  1  there is no broker, or it refused; a sentence on stderr says why\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan broker serve                      # shares this host's GPUs, until it is "
        "ended\n"
        "  vramspan broker status                     # who has what, and is due what\n"
        "  vramspan broker set train weight=200 guarantee=8GiB\n"
        "  vramspan broker drain train                # off the devices, to host memory\n"
        "  vramspan broker cdi --output vramspan.json   # for containers, in /etc/cdi\n"
        "\n"
        "Read more: docs/sharing.md");
    for (auto make :
         {&broker_command::MakeServe, &broker_command::MakeStatus, &broker_command::MakeSet,
          &broker_command::MakeDrain, &broker_command::MakeUndrain, &broker_command::MakeCdi,
          &broker_command::MakeHook}) {
      actions_.push_back(make());
      actions_.back()->Define(options);
    }
    options_ = options;
  }

  int Run() override {
    const std::string chosen = options_->ChosenAction();
    const auto action = std::find_if(actions_.begin(), actions_.end(), [&](const auto& candidate) {
      return candidate->name() == chosen;
    });
    const Status status = (*action)->Run();
    if (status.ok()) return kExitOk;
    SayError("vramspan broker " + chosen, status.message());
    return absl::IsInvalidArgument(status) ? kExitUsage : kExitFailure;
  }

 private:
  std::optional<CommandOptions> options_;
  std::vector<std::unique_ptr<broker_command::Action>> actions_;
};

VRAMSPAN_COMMAND(BrokerCommand);

}  // namespace
}  // namespace vramspan
