// `vramspan broker set`: changes a tenant while the broker runs.
#include <absl/strings/str_cat.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/base/clean_text.h"
#include "tools/vramspan/broker_action.h"
#include "tools/vramspan/broker_done.h"

namespace vramspan::broker_command {
namespace {

class Set final : public Action {
 public:
  std::string name() const override { return "set"; }

  void Define(CommandOptions& broker) override {
    CommandOptions options = broker.Action(name(), "Change what a tenant is due, at once");
    options.Option("tenant", tenant_, "The tenant's name, or its cgroup").Required();
    options.Option("changes", changes_, "As weight=200").Required().Shown("KEY=VALUE ...");
    options.Option("--run-directory", run_directory_, "Where the broker's sockets lie")
        .Shown("DIR");
    options.Footer(
        "weight=1 to 10000, guarantee=SIZE, limit=SIZE or none, class=batch, normal or latency; "
        "and "
        "host_guarantee and host_limit, of pinned host memory. What is set holds until the broker "
        "ends; what is to stay belongs into tenants.d.\n"
        "\n"
        "Exit status\n"
        "  0  it is so now\n"
        "  1  there is no broker, or it refused; a sentence on stderr says why\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan broker set train weight=200 guarantee=8GiB limit=20GiB class=batch\n"
        "  vramspan broker set /system.slice/train.service limit=none\n"
        "\n"
        "Read more: docs/sharing.md");
  }

  Status Run() override {
    nlohmann::json changes = nlohmann::json::object();
    for (const std::string& change : changes_) {
      const size_t equals = change.find('=');
      if (equals == std::string::npos || equals == 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("'", Repeated(change), "' is no change; use KEY=VALUE, as weight=200"));
      }
      changes[change.substr(0, equals)] = change.substr(equals + 1);
    }
    const nlohmann::json request = {{"verb", "set"}, {"tenant", tenant_}, {"changes", changes}};
    return AskUntilDone(run_directory_, request);
  }

 private:
  std::string tenant_, run_directory_;
  std::vector<std::string> changes_;
};

}  // namespace

std::unique_ptr<Action> MakeSet() { return std::make_unique<Set>(); }

}  // namespace vramspan::broker_command
