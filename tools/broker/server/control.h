// Serves control.sock: who may use the daemon's own user's files may ask and change.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_CONTROL_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_CONTROL_H_

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "tools/broker/server/fd.h"
#include "tools/broker/server/loop.h"
#include "tools/broker/server/socket.h"

namespace vramspan::broker {

class Control {
 public:
  // The answers to what was asked.
  using Answer = std::function<std::vector<std::string>(std::string_view request)>;

  Control(Loop& loop, Answer answer) : loop_(loop), answer_(std::move(answer)) {}
  Status Start(Fd listening);

 private:
  // Answers that wait for their reader. Nothing more is read meanwhile.
  struct Connection {
    Fd socket;
    WatchId watch = 0;
    std::deque<std::string> answers;
  };

  void OnConnection();
  void OnReady(WatchId key);
  bool Read(Connection& connection);  // False: it has ended.
  bool Write(Connection& connection);
  void End(WatchId key);

  Loop& loop_;
  const Answer answer_;
  Fd listening_;
  Spare spare_;
  std::map<WatchId, Connection> connections_;  // By a number of their own.
  WatchId last_ = 0;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_CONTROL_H_
