// A descriptor that takes ten seconds to close, and is passed to another.
#ifndef VRAMSPAN_TESTS_BROKER_SERVER_LINGERING_H_
#define VRAMSPAN_TESTS_BROKER_SERVER_LINGERING_H_

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "runtime/base/log.h"

namespace vramspan::broker_test {

class Lingering {
 public:
  // A TCP connection of which nobody reads, full of bytes.
  Lingering() {
    listening_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const at = reinterpret_cast<sockaddr*>(&address);
    VS_CHECK(bind(listening_, at, size) == 0 && listen(listening_, 1) == 0);
    VS_CHECK(getsockname(listening_, at, &size) == 0);
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    VS_CHECK(connect(fd_, at, size) == 0);
    const std::vector<char> bytes(1 << 16);
    while (send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
    SetLinger(10);
  }
  ~Lingering() {
    if (fd_ >= 0) {
      SetLinger(0);
      close(fd_);
    }
    close(listening_);
  }

  // Whoever has it there closes it last. False: the other cannot be passed any.
  bool PassTo(int socket, std::vector<char> bytes) {
    iovec vector = {bytes.data(), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message = {};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &fd_, sizeof fd_);
    if (sendmsg(socket, &message, MSG_NOSIGNAL) < 0) return false;
    close(fd_);
    fd_ = -1;
    return true;
  }

 private:
  void SetLinger(int seconds) const {
    const linger wait = {1, seconds};
    VS_CHECK(setsockopt(fd_, SOL_SOCKET, SO_LINGER, &wait, sizeof wait) == 0);
  }

  int listening_ = -1, fd_ = -1;
};

}  // namespace vramspan::broker_test

#endif  // VRAMSPAN_TESTS_BROKER_SERVER_LINGERING_H_
