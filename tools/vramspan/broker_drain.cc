// `vramspan broker drain` and `undrain`: takes a tenant, a process or everybody off the devices.
#include <absl/strings/str_cat.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "tools/vramspan/broker_action.h"
#include "tools/vramspan/broker_done.h"

namespace vramspan::broker_command {
namespace {

class Drain final : public Action {
 public:
  explicit Drain(bool drained) : drained_(drained) {}

  std::string name() const override { return drained_ ? "drain" : "undrain"; }

  void Define(CommandOptions& broker) override {
    CommandOptions options = broker.Action(
        name(), drained_ ? "Take a tenant, a process or everybody off the devices, ending nothing"
                         : "Let who was drained have device memory again");
    options.Option("who", who_, "A tenant's name or cgroup, or a pid. Left out: everybody");
    options.Option("--run-directory", run_directory_, "Where the broker's sockets lie")
        .Shown("DIR");
    options.Footer(absl::StrCat(
        drained_
            ? "What they have of the devices is recalled, and goes to their host memory as far as "
              "their programs allow. Who comes meanwhile is let in with no device memory. It "
              "lasts until `vramspan broker undrain`, or until the broker ends. `vramspan broker "
              "status` shows it.\n"
            : "What was drained by a name is undrained by that name, and everybody by none.\n",
        "\nExit status\n"
        "  0  it is so now; memory may be on its way yet\n"
        "  1  there is no broker, or nobody of that name; a sentence on stderr says why\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan broker ",
        name(), " train\n  vramspan broker ", name(),
        "          # everybody\n\n"
        "Read more: docs/sharing.md"));
  }

  Status Run() override {
    nlohmann::json request = {{"verb", name()}};
    // As of a shell's variable that is not set.
    if (who_ && who_->empty()) {
      return absl::InvalidArgumentError("the name is empty; leave it out to mean everybody");
    }
    if (who_) request["who"] = *who_;
    return AskUntilDone(run_directory_, request);
  }

 private:
  const bool drained_;
  std::optional<std::string> who_;
  std::string run_directory_;
};

}  // namespace

std::unique_ptr<Action> MakeDrain() { return std::make_unique<Drain>(true); }
std::unique_ptr<Action> MakeUndrain() { return std::make_unique<Drain>(false); }

}  // namespace vramspan::broker_command
