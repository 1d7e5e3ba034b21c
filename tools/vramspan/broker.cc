// `vramspan broker`: shares a GPU's memory among several programs.
#include <string>

#include "tools/vramspan/broker_action.h"

namespace vramspan {
namespace {

class BrokerCommand final : public ActionsCommand {
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
    Offer(options,
          {&broker_command::MakeServe, &broker_command::MakeStatus, &broker_command::MakeSet,
           &broker_command::MakeDrain, &broker_command::MakeUndrain, &broker_command::MakeCdi,
           &broker_command::MakeHook});
  }
};

VRAMSPAN_COMMAND(BrokerCommand);

}  // namespace
}  // namespace vramspan
