// Where metrics are served: "ADDRESS:PORT", or "PORT" of this host alone.
//
// Addresses are numbers: a name would have to be asked for, and asking waits.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_LISTEN_ADDRESS_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_LISTEN_ADDRESS_H_

#include <sys/socket.h>

#include <string>
#include <string_view>

#include "runtime/base/status.h"
#include "tools/broker/server/fd.h"

namespace vramspan::broker {

struct ListenAddress {
  sockaddr_storage address = {};
  socklen_t size = 0;
  bool loopback = true;  // Nobody else can reach it.
};

// "127.0.0.1:9477", "[::1]:9477", "9477". Port 0 is one that the kernel finds.
StatusOr<ListenAddress> ParseListenAddress(std::string_view text);
// As it is written, with the port that it has.
std::string AddressText(int socket);
// A socket that listens there, and never waits.
StatusOr<Fd> ListenAtAddress(const ListenAddress& address, std::string_view what);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_LISTEN_ADDRESS_H_
