// The devices as NVML shows them. Its library is opened at run time: the daemon needs no CUDA.
//
// NOTE: NVML's calls wait for the driver, some hundred microseconds each. A driver that hangs makes
// the daemon wait with it; processes keep their grants meanwhile.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_NVML_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_NVML_H_

#include <memory>

#include "tools/broker/server/machine.h"

namespace vramspan::broker {

// Errors say what is missing.
StatusOr<std::unique_ptr<Machine>> OpenNvml();

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_NVML_H_
