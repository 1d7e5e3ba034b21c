// A server exports a handle, closes what it does not know, and listens on what gets the numbers:
// all its clients are answered by it. Another process connects to the exporter's socket before.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "tests/hostile/program.h"

using namespace hostile;  // NOLINT

namespace {

constexpr int kClients = 30;

// To whatever socket of this process there is in the abstract namespace.
void ConnectToOurs() {
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    const size_t at = line.find("@vramspan-ipc-" + std::to_string(getpid()) + "-");
    if (at == std::string::npos) continue;
    const std::string name = line.substr(at + 1);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
    (void)!connect(fd, reinterpret_cast<const sockaddr*>(&address),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size()));
    close(fd);
  }
}

int Served(int listener) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener, name, size) != 0 || listen(listener, 64) != 0) return -1;
  getsockname(listener, name, &size);
  const timeval patience{3, 0};
  setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  std::thread server([listener] {
    for (int i = 0; i < kClients; ++i) {
      const int client = accept(listener, nullptr, nullptr);
      if (client < 0) return;
      (void)!write(client, "hello", 5);
      close(client);
    }
  });
  int served = 0;
  for (int i = 0; i < kClients; ++i) {
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    char answer[8];
    served += connect(client, name, size) == 0 && read(client, answer, sizeof(answer)) == 5;
    close(client);
    usleep(5000);
  }
  shutdown(listener, SHUT_RDWR);
  server.join();
  return served;
}

}  // namespace

HOSTILE_PROGRAM(ipc_listener) {
  Start();
  const auto blocks = Blocks(1);
  CUipcMemHandle handle{};
  cuIpcGetMemHandle(&handle, blocks[0]);  // The simulated driver alone refuses it.
  for (int fd = 3; fd < 256; ++fd) {
    char to[256] = {};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    if (readlink(link.c_str(), to, sizeof(to) - 1) < 0) continue;
    if (!std::string(to).starts_with("/memfd")) close(fd);
  }
  int listeners[4];
  for (int& listener : listeners) listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ConnectToOurs();
  usleep(200000);
  for (const int listener : listeners) std::printf("%d served\n", Served(listener));
  return 0;
}
