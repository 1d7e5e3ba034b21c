// What another process says where memory is shared with it (ipc_wire.h). The input is packets: a
// byte with the number of descriptors that come along, one with the length, and as many bytes. Each
// is received as a request, an answer and a piece would be, and an answer is judged for a handle of
// 6 MiB.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "runtime/base/log.h"
#include "runtime/preload/ipc_wire.h"

namespace {

using namespace vramspan;           // NOLINT
using namespace vramspan::preload;  // NOLINT

constexpr int kMostSent = 12;

void Send(int socket, std::string_view bytes, int descriptors) {
  alignas(cmsghdr) char control[CMSG_SPACE(kMostSent * sizeof(int))] = {};
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptors > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(static_cast<size_t>(descriptors) * sizeof(int));
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(static_cast<size_t>(descriptors) * sizeof(int));
    for (int i = 0; i < descriptors; ++i) {
      std::memcpy(CMSG_DATA(header) + static_cast<size_t>(i) * sizeof(int), &socket, sizeof(int));
    }
  }
  VS_CHECK(sendmsg(socket, &message, MSG_NOSIGNAL) >= 0 || bytes.empty());
}

template <typename Message>
void Receive(std::string_view bytes, int descriptors, bool wants_one) {
  int ends[2];
  VS_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
  Send(ends[0], bytes, descriptors);
  OwnedFd fd;
  Message message;
  const Status status =
      ReceivePacket(ends[1], &message, sizeof(message), wants_one ? &fd : nullptr);
  VS_CHECK(!status.ok() || bytes.size() == sizeof(message));
  VS_CHECK(!status.ok() || descriptors == (wants_one ? 1 : 0));
  VS_CHECK(status.ok() || fd.get() < 0);
  if constexpr (std::is_same_v<Message, IpcAnswer>) {
    const IpcHandle handle{.size = uint64_t{6} << 20};
    if (status.ok() && CheckAnswer(handle, message).ok()) {
      VS_CHECK(message.magic == kIpcMagic && message.pieces > 0);
      VS_CHECK(message.offset + handle.size <= message.bytes && message.bytes >= handle.size);
    }
  }
  close(ends[0]);
  close(ends[1]);
}

// Whatever came is closed: the lowest free descriptor is what it was.
int LowestFree() {
  const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(fd);
  return fd;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int lowest = LowestFree();
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (rest.size() >= 2) {
    const int descriptors = static_cast<uint8_t>(rest[0]) % (kMostSent + 1);
    const std::string_view bytes = rest.substr(2, static_cast<uint8_t>(rest[1]));
    rest.remove_prefix(2 + bytes.size());
    Receive<IpcRequest>(bytes, descriptors, false);
    Receive<IpcAnswer>(bytes, descriptors, false);
    Receive<IpcPiece>(bytes, descriptors, true);
  }
  // A handle as a program may hand it over.
  CUipcMemHandle handle{};
  if (size != 0) std::memcpy(&handle, data, std::min(size, sizeof(handle)));
  const IpcHandle read = FromCuda(handle);
  VS_CHECK((FromCuda(ToCuda(read)) <=> read) == 0);
  VS_CHECK(AddressOf(read.process, read.socket).size <= sizeof(sockaddr_un));
  VS_CHECK(LowestFree() == lowest);
  return 0;
}
