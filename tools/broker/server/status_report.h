// What `vramspan broker status` shows, as JSON objects: one for the broker, then for each device
// one and its tenants' and processes'. Each fits into a datagram, however many there are.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_STATUS_REPORT_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_STATUS_REPORT_H_

#include <string>
#include <vector>

#include "tools/broker/server/accounts.h"
#include "tools/broker/server/client.h"
#include "tools/broker/server/reform.h"

namespace vramspan::broker {

struct Facts {
  const Accounts& accounts;
  const Devices& devices;
  const Clients& clients;
  std::string run_directory;
  bool sees_use = false;
  Instant now, started;  // Of the broker.
};

std::vector<std::string> StatusReport(const Facts& facts);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_STATUS_REPORT_H_
