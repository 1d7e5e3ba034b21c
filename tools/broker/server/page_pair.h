// The two pages of a connection (docs/broker-protocol.md): memfds of which the process gets the
// descriptors, and the daemon keeps the mappings.
//
// The broker's page is sealed with F_SEAL_FUTURE_WRITE after it was mapped here: no descriptor of
// it can be written to or mapped to write, also one that is opened anew through /proc. Neither page
// can be made shorter or longer, so no access here can fault.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_PAGE_PAIR_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_PAGE_PAIR_H_

#include <cstdint>
#include <memory>

#include "runtime/base/status.h"
#include "runtime/lease/pages.h"
#include "tools/broker/server/fd.h"

namespace vramspan::broker {

class PagePair {
 public:
  static StatusOr<std::unique_ptr<PagePair>> Make();
  ~PagePair();
  PagePair(const PagePair&) = delete;
  PagePair& operator=(const PagePair&) = delete;

  // Good until they were sent.
  int process_fd() const { return process_fd_.get(); }
  int broker_fd() const { return broker_fd_.get(); }
  void CloseDescriptors();

  // Each word once, as the process may write meanwhile. False: nobody wrote it yet.
  bool Read(lease::ProcessPage* page) const;
  // The revision last: who sees it sees what belongs to it.
  void Write(const lease::BrokerPage& page);

 private:
  PagePair() = default;

  Fd process_fd_, broker_fd_;
  const uint64_t* process_ = nullptr;
  uint64_t* broker_ = nullptr;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_PAGE_PAIR_H_
