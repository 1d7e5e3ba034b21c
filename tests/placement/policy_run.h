// References run through a policy in a cache of a fixed room that evicts one chunk for each miss,
// and the same through a model of the policy: plain, slow, and straight from its paper.
#ifndef VRAMSPAN_TESTS_PLACEMENT_POLICY_RUN_H_
#define VRAMSPAN_TESTS_PLACEMENT_POLICY_RUN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/placement/policy.h"

namespace vramspan {

using Ids = std::vector<uint32_t>;

std::unique_ptr<EvictionPolicy> Make(std::string_view name, uint64_t seed = 1);

// What the policy offers, `most` at most.
Ids Offered(EvictionPolicy& policy, size_t most = SIZE_MAX);

struct PolicyRun {
  std::string outcome;  // For each reference 'h', a hit, or 'm', a miss.
  Ids evicted;          // In order.

  double miss_ratio() const;
};
PolicyRun RunPolicy(EvictionPolicy& policy, size_t room, const Ids& references);
inline PolicyRun RunPolicy(std::string_view name, size_t room, const Ids& references) {
  return RunPolicy(*Make(name), room, references);
}
inline Ids Evicted(EvictionPolicy& policy, size_t room, const Ids& references) {
  return RunPolicy(policy, room, references).evicted;
}

class PolicyModel {
 public:
  virtual ~PolicyModel() = default;
  // One reference. On a miss in a full cache, `victim` is what had to leave for it, else 0.
  virtual bool Hit(uint32_t id, uint32_t* victim) = 0;
};

// Runs random traces through the policy and a model of the same room: hits and victims must be the
// same, step by step. `prepare` is called with the policy before each.
void ExpectAgrees(
    std::string_view name,
    const std::function<std::unique_ptr<PolicyModel>(size_t room)>& make_model,
    const std::function<void(EvictionPolicy&)>& prepare = [](EvictionPolicy&) {});

// Parts that are Zipf, loops, scans and all of that mixed; some references several times in a row.
Ids RandomTrace(uint32_t seed, size_t length);
// 1 to `period`, again and again.
Ids Loop(uint32_t period, size_t laps);

}  // namespace vramspan

#endif  // VRAMSPAN_TESTS_PLACEMENT_POLICY_RUN_H_
