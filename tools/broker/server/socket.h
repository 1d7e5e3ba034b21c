// Unix sockets of the daemon: SOCK_SEQPACKET, one message a datagram, and nothing ever waits.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_SOCKET_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_SOCKET_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "runtime/base/status.h"
#include "tools/broker/server/fd.h"

namespace vramspan::broker {

// Listens at `path`, which `mode` says who may connect to. A socket that is there is replaced.
// Whoever is accepted has the kernel say who sent each message, and since Linux 6.16 cannot pass
// descriptors.
StatusOr<Fd> ListenAt(const std::string& path, mode_t mode);

// Listens with a socket that is bound to `path`, as ListenAt does.
Status BeginToListen(int socket, const std::string& path);

// A descriptor kept for the time when there are no others: one that waits to be accepted then would
// be told of for ever.
class Spare {
 public:
  Spare();
  // Somebody who waits is turned away.
  void TurnAway(int listening);
  bool held() const { return static_cast<bool>(fd_); }

 private:
  Fd fd_;
};

enum class Sent : uint8_t {
  kSent,
  kFull,  // The other does not read.
  kGone,  // The other is not there, or it could not be sent at all.
};

// With `descriptors`, at most two.
Sent Send(int socket, std::span<const uint8_t> datagram,
          std::initializer_list<int> descriptors = {});

struct Received {
  // kDescriptors: there are some with the next datagram. It stays where it is (HangUp).
  enum class Kind : uint8_t { kDatagram, kNothing, kEnd, kDescriptors };
  Kind kind = Kind::kNothing;
  size_t size = 0;  // What it has, at most the buffer's.
  pid_t pid = 0;    // Who sent it, as the kernel says. 0: nobody that is seen from here.
};

// A datagram longer than the buffer is cut. No descriptor is ever taken.
Received Receive(int socket, std::span<uint8_t> buffer);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_SOCKET_H_
