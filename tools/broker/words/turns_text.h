// Whether there are turns on the GPU, as operators say it on the command line.
#ifndef VRAMSPAN_TOOLS_BROKER_WORDS_TURNS_TEXT_H_
#define VRAMSPAN_TOOLS_BROKER_WORDS_TURNS_TEXT_H_

#include <string_view>

#include "runtime/base/status.h"

namespace vramspan::broker {

// "auto", where they help, or "off". Errors name the option, the value and what is allowed.
StatusOr<bool> ParseTurns(std::string_view value);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_WORDS_TURNS_TEXT_H_
