#include "tools/broker/words/policy_bound.h"

#include <algorithm>

namespace vramspan::broker {

Policy Bounded(const Policy& asked, const Policy& most) {
  Policy bounded;
  bounded.weight = std::min(asked.weight, most.weight);
  bounded.klass = std::min(asked.klass, most.klass);
  for (const Place place : kPlaces) {
    bounded.limit[place] = std::min(asked.limit[place], most.limit[place]);
    bounded.guarantee[place] =
        std::min({asked.guarantee[place], most.guarantee[place], bounded.limit[place]});
  }
  return bounded;
}

bool SamePolicy(const Policy& a, const Policy& b) {
  return a.weight == b.weight && a.guarantee == b.guarantee && a.limit == b.limit &&
         a.klass == b.klass;
}

bool AskedForMore(const Policy& asked, const Policy& bounded) {
  constexpr Policy kNothing = {};
  const auto lost = [&](auto key) {
    return asked.*key != bounded.*key && asked.*key != kNothing.*key;
  };
  return lost(&Policy::weight) || lost(&Policy::guarantee) || lost(&Policy::limit) ||
         lost(&Policy::klass);
}

}  // namespace vramspan::broker
