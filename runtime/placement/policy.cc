#include "runtime/placement/policy.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include "runtime/base/clean_text.h"
#include "runtime/placement/policies/arc.h"
#include "runtime/placement/policies/clock.h"
#include "runtime/placement/policies/cost.h"
#include "runtime/placement/policies/cycle.h"
#include "runtime/placement/policies/fifo.h"
#include "runtime/placement/policies/first_out.h"
#include "runtime/placement/policies/lfu.h"
#include "runtime/placement/policies/lru.h"
#include "runtime/placement/policies/random.h"
#include "runtime/placement/policies/s3fifo.h"
#include "runtime/placement/policies/sieve.h"

namespace vramspan {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<EvictionPolicy> (*make)(uint64_t seed);
};

template <typename Policy>
std::unique_ptr<EvictionPolicy> Plain(uint64_t) {
  return std::make_unique<Policy>();
}

constexpr Entry kPolicies[] = {
    {"arc", Plain<ArcPolicy>},
    {"clock", Plain<ClockPolicy>},
    {"cost", Plain<CostPolicy>},
    {"cycle", Plain<CyclePolicy>},
    {"fifo", Plain<FifoPolicy>},
    {"lfu", Plain<LfuPolicy>},
    {"lru", Plain<LruPolicy>},
    {"random",
     [](uint64_t seed) -> std::unique_ptr<EvictionPolicy> {
       return std::make_unique<RandomPolicy>(seed);
     }},
    {"s3fifo", Plain<S3FifoPolicy>},
    {"sieve", Plain<SievePolicy>},
};

}  // namespace

StatusOr<std::unique_ptr<EvictionPolicy>> MakePolicy(std::string_view name, uint64_t seed) {
  for (const Entry& entry : kPolicies) {
    if (entry.name == name) return std::make_unique<FirstOutPolicy>(entry.make(seed));
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no eviction policy '", Repeated(name),
                                                 "'; use one of ",
                                                 absl::StrJoin(PolicyNames(), ", ")));
}

std::vector<std::string_view> PolicyNames() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kPolicies) names.push_back(entry.name);
  return names;
}

}  // namespace vramspan
