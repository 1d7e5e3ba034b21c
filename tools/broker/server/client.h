// A connection, and the process at its other end. It outlives the connection while the core knows
// the process.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_CLIENT_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_CLIENT_H_

#include <map>
#include <memory>
#include <optional>

#include "runtime/base/units.h"
#include "runtime/lease/pages.h"
#include "tools/broker/core/names.h"
#include "tools/broker/core/process.h"
#include "tools/broker/server/account.h"
#include "tools/broker/server/device.h"
#include "tools/broker/server/fd.h"
#include "tools/broker/server/loop.h"
#include "tools/broker/server/page_pair.h"
#include "tools/broker/server/peer.h"

namespace vramspan::broker {

struct Client {
  ProcessId id;
  Peer peer;
  Account* account = nullptr;
  Instant since;  // It has connected, or was refused.
  Fd socket;      // None: the connection has ended.
  WatchId socket_watch = 0, end_watch = 0;
  bool paused = false;  // Nothing is read of it: its tenant has cost too much.
  bool ended = false;   // The process is gone.

  // From its hello on.
  Device* device = nullptr;
  bool joined = false;  // The core knows it.
  std::unique_ptr<PagePair> pages;
  lease::BrokerPage shown;
  Said said;
  Bytes wanted_device, wanted_host;  // As messages said, while its page says nothing.
  uint64_t beat = 0;
  Instant beat_at;
  bool stuck = false;
  // What it said when it was looked at last.
  std::optional<uint64_t> stalled;
  Instant stalled_at;
};

using Clients = std::map<ProcessId, std::unique_ptr<Client>>;

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_CLIENT_H_
