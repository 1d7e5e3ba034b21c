// The socket to the broker, and what comes and goes by it. Nothing here waits.
//
// Threads: one, but that Open and Adopt may be another's before.
#ifndef VRAMSPAN_RUNTIME_LEASE_CONNECTION_H_
#define VRAMSPAN_RUNTIME_LEASE_CONNECTION_H_

#include <sys/types.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/own_descriptor.h"
#include "runtime/base/status.h"
#include "runtime/lease/message.h"
#include "runtime/lease/shared_pages.h"

namespace vramspan::lease {

// Whether a broker of the user `peer` may be trusted by a process of `own`. Pure.
Status MayTrust(uid_t peer, uid_t own);

class Connection {
 public:
  struct Datagram {
    std::array<uint8_t, kMostMessageSize + 1> bytes;
    size_t size = 0;
    bool pages = false;  // Both pages came with it, and are mapped.
    std::span<const uint8_t> text() const { return std::span(bytes).first(size); }
  };
  enum class Reading : uint8_t { kNothing, kDatagram, kEnded };

  // A descriptor, closed by exec. The first of these that somebody listens on is taken. NotFound:
  // nobody does; PermissionDenied: who listens is neither root nor of our own user; Unavailable:
  // somebody does, and as many as it takes wait for it already.
  static StatusOr<int> Open(std::span<const std::string> sockets);

  Connection() = default;
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void Adopt(int descriptor);
  // The program's other threads have the same table of descriptors: a child of fork closes its
  // copy. Before Adopt.
  void CloseInChildren();
  void Close();
  bool held() const { return socket_.held(); }
  // To be polled; -1 where there is none, or the program closed it.
  int descriptor() const { return socket_.Get().value_or(-1); }

  // Sends, or keeps it until Flush can. False: the broker reads nothing, and is to be left.
  bool Send(const Message& message);
  bool Flush();
  bool pending() const { return !kept_.empty(); }

  Reading Receive(Datagram* datagram);
  SharedPages& pages() { return pages_; }

 private:
  // 1: sent; 0: there is no room now; -1: the connection is of no use.
  int TrySend(const Message& message);

  OwnDescriptor socket_;
  SharedPages pages_;
  std::vector<Message> kept_;
  size_t place_ = kNoPlace;  // Among those that children close.
  static constexpr size_t kNoPlace = ~size_t{0};
};

}  // namespace vramspan::lease

#endif  // VRAMSPAN_RUNTIME_LEASE_CONNECTION_H_
