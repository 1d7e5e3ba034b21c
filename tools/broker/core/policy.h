// What an operator says about a tenant.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_POLICY_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_POLICY_H_

#include <cstdint>

#include "runtime/base/units.h"
#include "tools/broker/core/amounts.h"
#include "tools/broker/core/names.h"

namespace vramspan::broker {

// In the order in which they give memory back.
enum class Class : uint8_t { kBatch, kNormal, kLatency };

// As cgroups have it.
inline constexpr uint32_t kDefaultWeight = 100;
inline constexpr uint32_t kMostWeight = 10'000;

struct Policy {
  uint32_t weight = kDefaultWeight;  // 1 to kMostWeight, among the tenants of one parent.
  PerPlace<Bytes> guarantee;
  PerPlace<Bytes> limit = {{kAllBytes, kAllBytes}};
  Class klass = Class::kNormal;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_POLICY_H_
