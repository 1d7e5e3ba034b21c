// All that the daemon knows, as Prometheus reads it. docs/sharing.md lists the names.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_METRICS_TEXT_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_METRICS_TEXT_H_

#include <string>

#include "tools/broker/server/metrics_rows.h"

namespace vramspan::broker {

struct MetricsFacts {
  const Accounts& accounts;
  const Devices& devices;
  const Clients& clients;
  const Counts& counts;
  bool sees_use = false;
  uint64_t lost_lines = 0;  // Of the log.
  Duration spent{};         // What the daemon has computed.
  Duration started{};       // Since 1970.
};

// Ends in a new line. Every name is there, with or without numbers.
std::string MetricsText(const MetricsFacts& facts);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_METRICS_TEXT_H_
