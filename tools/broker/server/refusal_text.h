// Refusals of the core, in words for the operator.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_REFUSAL_TEXT_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_REFUSAL_TEXT_H_

#include <string>

#include "tools/broker/core/action.h"
#include "tools/broker/server/device.h"

namespace vramspan::broker {

// What was wrong with what an operator wanted of a tenant.
std::string RefusalText(Refusal refusal, const Device& device);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_REFUSAL_TEXT_H_
