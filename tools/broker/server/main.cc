// The broker's daemon, libexec/vramspan/broker: `vramspan broker serve` starts it.
#include <absl/strings/str_cat.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>

#include "tools/broker/control/run_directory.h"
#include "tools/broker/server/journal.h"
#include "tools/broker/server/options.h"
#include "tools/broker/server/server.h"

namespace {

using vramspan::broker::Journal;

// Each process has two descriptors here.
void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Tells systemd that the sockets are there (sd_notify(3)).
void NotifyReady() {
  const char* const place = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (place == nullptr || strlen(place) >= sizeof address.sun_path) return;
  memcpy(address.sun_path, place, strlen(place));
  if (place[0] == '@') address.sun_path[0] = '\0';
  vramspan::broker::Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  constexpr char kReady[] = "READY=1";
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + strlen(place));
  if (sendto(socket.get(), kReady, sizeof kReady - 1, MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&address), size) < 0) {
    Journal::Say("NOTIFY_SOCKET: nobody could be told that the broker is ready");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = vramspan::broker::ParseOptions(argc, argv);
  if (!options.ok()) {
    Journal::Say(options.status().message());
    return 2;
  }
  RaiseDescriptorLimit();
  const auto server = vramspan::broker::Server::Make(*options);
  if (!server.ok()) {
    Journal::Say(server.status().message());
    return 1;
  }
  Journal::Say(
      absl::StrCat("listens at ", options->run_directory, vramspan::broker::kBrokerSocket));
  NotifyReady();
  const vramspan::Status ended = (*server)->Run();
  Journal::Say(ended.ok() ? std::string_view("ends") : ended.message());
  return ended.ok() ? 0 : 1;
}
