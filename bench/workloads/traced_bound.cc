#include "bench/workloads/traced_bound.h"

#include <algorithm>
#include <map>

namespace vramspan::bench {

size_t FewestMisses(const std::vector<int>& uses, size_t room, size_t from, size_t to) {
  std::vector<size_t> next(uses.size());
  std::map<int, size_t> seen;
  for (size_t i = uses.size(); i-- > 0;) {
    const auto later = seen.find(uses[i]);
    next[i] = later == seen.end() ? uses.size() : later->second;
    seen[uses[i]] = i;
  }
  std::map<int, size_t> here;  // When each is used again.
  size_t misses = 0;
  for (size_t i = 0; i < uses.size(); ++i) {
    const auto hit = here.find(uses[i]);
    if (hit != here.end()) {
      hit->second = next[i];
      continue;
    }
    if (i >= from && i < to) ++misses;
    if (here.size() < room) {
      here[uses[i]] = next[i];
      continue;
    }
    const auto last = std::max_element(
        here.begin(), here.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (last == here.end() || last->second <= next[i]) continue;
    here.erase(last);
    here[uses[i]] = next[i];
  }
  return misses;
}

}  // namespace vramspan::bench
