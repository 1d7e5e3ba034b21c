// The daemon put together: the core's states, who is connected, and the one thread that serves
// them.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_SERVER_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_SERVER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/broker/server/alarm.h"
#include "tools/broker/server/clock.h"
#include "tools/broker/server/control.h"
#include "tools/broker/server/metrics.h"
#include "tools/broker/server/operator.h"
#include "tools/broker/server/options.h"
#include "tools/broker/server/reception.h"
#include "tools/broker/server/service_manager.h"

namespace vramspan::broker {

class Server {
 public:
  // Listens already. Errors say what is missing.
  static StatusOr<std::unique_ptr<Server>> Make(const Options& options, ServiceManager& manager);
  ~Server();

  // Until SIGTERM or SIGINT. What processes were granted stays theirs.
  Status Run(ServiceManager& manager);

 private:
  Server(const Options& options, std::unique_ptr<Loop> loop, std::unique_ptr<Machine> machine,
         Fd folder);
  Status Start(ServiceManager& manager);
  Status WatchSignals();
  Status WatchJournal();
  void OnSignal();
  std::vector<std::string> Answer(std::string_view text);

  const Options options_;
  const Instant started_ = Now();
  const std::unique_ptr<Loop> loop_;
  const std::unique_ptr<Machine> machine_;
  const Fd folder_;
  // What it has bound, and nobody keeps when it ends. A start that fails may have bound nothing.
  std::vector<std::string> own_paths_;
  Fd signals_;
  Alarm owed_lines_;
  const HostMemory host_;
  Accounts accounts_;
  Devices devices_;
  Clients clients_;
  Roll roll_;
  DeviceMaker maker_;
  Dispatcher dispatcher_;
  Inspector inspector_;
  Drains drains_;
  Reception reception_;
  Operator operator_;
  Control control_;
  Metrics metrics_;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_SERVER_H_
