// The broker's daemon, libexec/vramspan/broker: `vramspan broker serve` starts it.
#include <absl/strings/str_cat.h>
#include <sys/resource.h>

#include "tools/broker/control/run_directory.h"
#include "tools/broker/server/journal.h"
#include "tools/broker/server/options.h"
#include "tools/broker/server/server.h"
#include "tools/broker/server/service_manager.h"

namespace {

using vramspan::broker::Journal;

// Each process has two descriptors here.
void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
  vramspan::broker::ServiceManager manager;
  const auto options = vramspan::broker::ParseOptions(argc, argv);
  if (!options.ok()) {
    Journal::Say(options.status().message());
    return 2;
  }
  RaiseDescriptorLimit();
  const auto server = vramspan::broker::Server::Make(*options, manager);
  if (!server.ok()) {
    Journal::Say(server.status().message());
    return 1;
  }
  Journal::Say(
      absl::StrCat("listens at ", options->run_directory, vramspan::broker::kBrokerSocket));
  const vramspan::Status ended = (*server)->Run(manager);
  Journal::Say(ended.ok() ? std::string_view("ends") : ended.message());
  return ended.ok() ? 0 : 1;
}
