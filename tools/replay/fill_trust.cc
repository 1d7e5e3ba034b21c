#include "tools/replay/fill_trust.h"

#include <absl/container/flat_hash_map.h>

#include <string_view>
#include <vector>

namespace vramspan::replay {

void FillTrust(RecordedRun* run) {
  if (!run->setting.trust_told) return;
  // A function in whatever shape, by the first code of its name.
  absl::flat_hash_map<std::string_view, uint32_t> names;
  std::vector<uint32_t> function_of;
  for (uint32_t code = 0; code < run->codes.size(); ++code) {
    function_of.push_back(names.try_emplace(run->codes[code].name, code).first->second);
  }
  struct Known {
    size_t first = 0;  // The first launch that is trusted most.
    Trust trust = Trust::kUntried;
    bool less = false;  // One behind that is trusted less.
  };
  std::vector<Known> known(run->codes.size());
  for (size_t i = 0; i < run->works.size(); ++i) {
    const RecordedWork& w = run->works[i];
    Known& of = known[function_of[w.code]];
    if (w.trust > of.trust) of = {i, w.trust};
    of.less |= w.trust < of.trust;
  }
  for (size_t i = 0; i < run->works.size(); ++i) {
    RecordedWork& w = run->works[i];
    const Known& of = known[function_of[w.code]];
    if (!of.less && i < of.first) w.trust = of.trust;
  }
}

}  // namespace vramspan::replay
