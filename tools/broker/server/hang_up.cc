#include "tools/broker/server/hang_up.h"

#include <pthread.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>

#include "tools/broker/server/journal.h"
#include "tools/broker/server/socket.h"

namespace vramspan::broker {
namespace {

// More than a socket's buffer has room for.
constexpr int kMostQueued = 4096;

// Takes away what has come, up to a message with descriptors.
bool HoldsDescriptors(int socket) {
  std::array<uint8_t, 1> buffer;
  for (int i = 0; i < kMostQueued; ++i) {
    const Received received = Receive(socket, buffer);
    if (received.kind == Received::Kind::kDescriptors) return true;
    if (received.kind != Received::Kind::kDatagram) return false;
  }
  return true;
}

void* CloseIt(void* fd) {
  close(static_cast<int>(reinterpret_cast<intptr_t>(fd)));
  return nullptr;
}

}  // namespace

void HangUp(Fd socket) {
  if (!socket) return;
  // Nothing more comes from here on. It fails where the peer is gone: the same holds then.
  shutdown(socket.get(), SHUT_RD);
  if (!HoldsDescriptors(socket.get())) return;
  const int fd = socket.Release();
  pthread_t thread;
  const int error =
      pthread_create(&thread, nullptr, CloseIt, reinterpret_cast<void*>(static_cast<intptr_t>(fd)));
  if (error == 0) {
    pthread_detach(thread);
  } else {
    Journal::Say("a connection with descriptors in it stays open: no thread can close it");
  }
}

}  // namespace vramspan::broker
