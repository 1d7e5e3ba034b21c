// The daemon's metrics: over HTTP, as a file, or both.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_METRICS_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_METRICS_H_

#include <memory>
#include <optional>
#include <string>

#include "runtime/base/status.h"
#include "tools/broker/server/dispatcher.h"
#include "tools/broker/server/metrics_file.h"
#include "tools/broker/server/options.h"
#include "tools/broker/server/scrape_server.h"

namespace vramspan::broker {

class Metrics {
 public:
  // How often the file is written. A choice: as often as things are scraped, mostly.
  static constexpr Duration kRound = std::chrono::seconds(15);
  // Until it is asked what came of it.
  static constexpr Duration kLook = std::chrono::seconds(1);

  // All of it outlives this.
  Metrics(Loop& loop, const Dispatcher& dispatcher, const Accounts& accounts,
          const Devices& devices, const Clients& clients, bool sees_use);
  Status Start(const Options& options);

 private:
  // At most once a second it is made anew.
  std::shared_ptr<const std::string> Text();
  void OnAlarm();

  Loop& loop_;
  const Dispatcher& dispatcher_;
  const Accounts& accounts_;
  const Devices& devices_;
  const Clients& clients_;
  const bool sees_use_;
  const Duration started_;
  std::shared_ptr<const std::string> text_;
  Instant text_until_;
  ScrapeServer server_;
  std::optional<MetricsFile> file_;
  Alarm alarm_;
  Instant write_at_;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_METRICS_H_
