// What containers may ask for, and what an operator lets them have.
#ifndef VRAMSPAN_TOOLS_BROKER_WORDS_POLICY_BOUND_H_
#define VRAMSPAN_TOOLS_BROKER_WORDS_POLICY_BOUND_H_

#include "tools/broker/core/policy.h"

namespace vramspan::broker {

// Where the operator says nothing: a container may have less than a program has that nobody
// configured, and no guarantee. That is a Policy's own default.
inline constexpr Policy kMostOfContainers = {};

// `asked`, with nothing that is more than `most` has: weight, guarantees, limits, and the class,
// which may only give memory back sooner. A guarantee is no more than the limit.
Policy Bounded(const Policy& asked, const Policy& most);

bool SamePolicy(const Policy& a, const Policy& b);

// Whether that left out something asked. What is as in a Policy's default was not asked.
bool AskedForMore(const Policy& asked, const Policy& bounded);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_WORDS_POLICY_BOUND_H_
