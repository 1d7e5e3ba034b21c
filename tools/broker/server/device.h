// One device: the core's state of it, and what was last seen of it.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_DEVICE_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_DEVICE_H_

#include <map>
#include <string>

#include "tools/broker/core/state.h"
#include "tools/broker/server/device_name.h"
#include "tools/broker/server/tally.h"

namespace vramspan::broker {

struct Device {
  Uuid uuid = {};
  std::string name;  // UuidText.
  State state;
  // Whose processes hold device memory, by the driver. Of those that are known here.
  std::map<ProcessId, Bytes> measured;
  RecallTimes recall_times;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_DEVICE_H_
