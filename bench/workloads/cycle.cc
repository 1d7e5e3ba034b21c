#include "bench/workloads/cycle.h"

#include <algorithm>
#include <vector>

namespace vramspan::bench {

double MinFetchesAPass(int things, int room) {
  if (room >= things) return 0;
  std::vector<int> here;  // Any that are there at first; the long run does not depend on them.
  for (int i = 0; i < room; ++i) here.push_back(i);
  const int warm_up = 2 * things;
  // The pattern repeats after things - 1 passes, so the mean over a multiple of that is exact.
  const int passes = 4 * (things - 1);
  long fetches = 0;
  for (int pass = 0; pass < warm_up + passes; ++pass) {
    for (int now = 0; now < things; ++now) {
      if (std::find(here.begin(), here.end(), now) != here.end()) continue;
      if (pass >= warm_up) ++fetches;
      // On a cycle the one used last is the one used again the latest.
      const auto distance = [&](int thing) { return (thing - now + things) % things; };
      *std::max_element(here.begin(), here.end(),
                        [&](int a, int b) { return distance(a) < distance(b); }) = now;
    }
  }
  return static_cast<double>(fetches) / std::max(passes, 1);
}

}  // namespace vramspan::bench
