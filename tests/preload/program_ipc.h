// What the scenarios of legacy IPC share.
#ifndef VRAMSPAN_TESTS_PRELOAD_PROGRAM_IPC_H_
#define VRAMSPAN_TESTS_PRELOAD_PROGRAM_IPC_H_

#include <sys/socket.h>
#include <sys/un.h>

#include "tests/preload/program_calls.h"

// Between two processes, over one end of a socket pair.
template <typename T>
void Tell(int socket, const T& what) {
  CHECK(send(socket, &what, sizeof(what), MSG_NOSIGNAL) == sizeof(what));
}
template <typename T>
T Hear(int socket) {
  T what{};
  if (recv(socket, &what, sizeof(what), 0) != sizeof(what)) Fail("the other process is gone");
  return what;
}

// A connection to the socket of whoever made the handle.
int ConnectToExporter(const CUipcMemHandle& handle);
// What it is asked for by who opens the handle: five words.
constexpr size_t kIpcRequestWords = 5;
void IpcRequestFor(const CUipcMemHandle& handle, unsigned long long* words);

#endif  // VRAMSPAN_TESTS_PRELOAD_PROGRAM_IPC_H_
