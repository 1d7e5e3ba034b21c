// What goes between two processes that share memory: the handle, which the program carries, and the
// messages, one each in a packet of a unix socket. All of it is of this version and this byte
// order; what comes from elsewhere is looked at field by field before it is believed.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_IPC_WIRE_H_
#define VRAMSPAN_RUNTIME_PRELOAD_IPC_WIRE_H_

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <cstring>

#include "runtime/base/status.h"
#include "runtime/preload/cuda_api.h"

namespace vramspan::preload {

inline constexpr uint64_t kIpcMagic = 0xf3a9'5c6e'9b01'd7c4;
inline constexpr uint32_t kIpcVersion = 1;

using IpcSecret = std::array<uint64_t, 2>;

struct IpcHandle {
  uint64_t magic = kIpcMagic;
  uint32_t version = kIpcVersion;
  int32_t process = 0;
  uint64_t socket = 0;  // With the process it names the exporter's socket.
  uint64_t id = 0;      // Of the allocation, in that process.
  IpcSecret secret{};
  uint64_t size = 0;   // Of the allocation.
  uint64_t check = 0;  // Of all before.
};
static_assert(sizeof(IpcHandle) == sizeof(CUipcMemHandle));
inline auto operator<=>(const IpcHandle& a, const IpcHandle& b) {
  return std::memcmp(&a, &b, sizeof(a)) <=> 0;
}

uint64_t CheckOf(const IpcHandle& handle);
CUipcMemHandle ToCuda(const IpcHandle& handle);
IpcHandle FromCuda(const CUipcMemHandle& handle);

struct IpcRequest {
  uint64_t magic = kIpcMagic;
  uint64_t id = 0;
  IpcSecret secret{};
  uint64_t size = 0;  // Of the allocation.
};

struct IpcAnswer {
  uint64_t magic = kIpcMagic;
  uint64_t pieces = 0;  // 0: there is no such allocation.
  uint64_t bytes = 0;   // Of all pieces.
  uint64_t offset = 0;  // Of the allocation in the first.
};

// Whether this answer can be believed of that allocation. NotFound where the exporter has none.
Status CheckAnswer(const IpcHandle& handle, const IpcAnswer& answer);

// Comes with one file descriptor.
struct IpcPiece {
  uint64_t index = 0;
  uint64_t bytes = 0;
};

// A piece on its way from one thread of the exporter to the other; comes with a file descriptor.
inline constexpr uint64_t kIpcDeliveryMagic = 0x5d1e'8a40'c37b'92e6;
struct IpcDelivery {
  uint64_t magic = kIpcDeliveryMagic;
  IpcSecret secret{};  // Of the exporter alone.
  uint64_t peer = 0;   // Who has asked for it.
  IpcPiece piece;
};

// A descriptor that is closed.
class OwnedFd {
 public:
  explicit OwnedFd(int fd = -1) : fd_(fd) {}
  ~OwnedFd();
  OwnedFd(OwnedFd&& other) noexcept : fd_(other.Give()) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept;
  int get() const { return fd_; }
  int Give();

 private:
  int fd_;
};

struct IpcAddress {
  sockaddr_un name{};
  socklen_t size = 0;
};
// In the abstract namespace: it goes with the process. Nobody guesses `socket`.
IpcAddress AddressOf(int32_t process, uint64_t socket);
Status FillRandom(void* data, size_t size);

// A connection on which no call takes longer than `patience`.
StatusOr<OwnedFd> ConnectTo(const IpcAddress& address, std::chrono::seconds patience);

// PermissionDenied unless the other end belongs to the user of this process, as the kernel knows
// users, and to its user namespace, where /proc tells. `process` is set to the other's number, or
// to 0 where it has none here.
Status CheckPeer(int socket, pid_t* process = nullptr);

// One packet; `fd` goes with it where it is not negative. `flags`: MSG_DONTWAIT. DeadlineExceeded:
// it cannot be done now, or not within the patience.
Status SendPacket(int socket, const void* data, size_t size, int fd = -1, int flags = 0);
// One packet of exactly `size` bytes, and one descriptor exactly where `fd` is given. Whatever else
// comes is an error, and closed.
Status ReceivePacket(int socket, void* data, size_t size, OwnedFd* fd = nullptr, int flags = 0);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_IPC_WIRE_H_
