// A tenant's policy as operators write it, in files and on the command line.
#ifndef VRAMSPAN_TOOLS_BROKER_WORDS_POLICY_TEXT_H_
#define VRAMSPAN_TOOLS_BROKER_WORDS_POLICY_TEXT_H_

#include <string_view>

#include "runtime/base/status.h"
#include "tools/broker/core/policy.h"

namespace vramspan::broker {

// "weight", "200"; "guarantee", "8GiB"; "class", "batch" and so on. Errors name the key, the value,
// and what is allowed. `policy` is changed where there is none.
Status SetPolicy(std::string_view key, std::string_view value, Policy* policy);

std::string_view ClassText(Class klass);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_WORDS_POLICY_TEXT_H_
