// Serves metrics by HTTP, on the daemon's one thread.
//
// Whoever reaches the port may read, and may be hostile. So there are few connections, each has a
// deadline, and who comes ends the oldest where there are too many: sitting on them all keeps
// nobody out. All of them together cost a two-hundredth of a core at most; nobody is accepted
// meanwhile. Nothing waits.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_SCRAPE_SERVER_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_SCRAPE_SERVER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runtime/base/status.h"
#include "tools/broker/server/alarm.h"
#include "tools/broker/server/allowance.h"
#include "tools/broker/server/fd.h"
#include "tools/broker/server/loop.h"

namespace vramspan::broker {

class ScrapeServer {
 public:
  // What is served. The same text may go to several.
  using Text = std::function<std::shared_ptr<const std::string>()>;

  static constexpr size_t kMostConnections = 4;
  static constexpr Duration kDeadline = std::chrono::seconds(5);

  // All of it outlives this.
  ScrapeServer(Loop& loop, Text text);
  // Listens already.
  Status Start(Fd listening);

 private:
  struct Connection {
    Fd socket;
    WatchId watch = 0;
    Instant until;
    std::string request, head;
    std::shared_ptr<const std::string> body;
    size_t sent = 0;       // Of both.
    size_t discarded = 0;  // Of what came behind the request.
  };
  using Key = uint64_t;

  void OnConnection();
  void OnReady(Key key);
  // False: it has ended.
  bool Serve(Connection& connection);
  bool Read(Connection& connection);
  void Answer(Connection& connection);
  bool Write(Connection& connection);
  bool Discard(Connection& connection);
  void End(Key key);
  void OnAlarm();
  void SetAlarm();

  Loop& loop_;
  const Text text_;
  Fd listening_;
  WatchId watch_ = 0;
  Alarm alarm_;
  Allowance allowance_;
  std::optional<Instant> accepts_at_;  // Nobody is accepted before.
  std::map<Key, Connection> connections_;
  Key last_ = 0;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_SCRAPE_SERVER_H_
