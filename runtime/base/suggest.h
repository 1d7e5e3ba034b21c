// What somebody may have meant who wrote something that there is not.
#ifndef VRAMSPAN_RUNTIME_BASE_SUGGEST_H_
#define VRAMSPAN_RUNTIME_BASE_SUGGEST_H_

#include <absl/types/span.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vramspan {

// So many letters to add, to leave out, to change, or to exchange with the next.
inline size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before = std::exchange(last, row);
  }
  return last[b.size()];
}

// "; did you mean 'replay'?", or nothing where no word is near.
inline std::string DidYouMean(std::string_view word, absl::Span<const std::string> words) {
  if (word.size() > 40) return "";
  std::string_view best;
  size_t least = std::max<size_t>(word.size() / 3, 1) + 1;
  for (const std::string& there : words) {
    const bool begun = word.size() >= 2 && there.starts_with(word);
    const size_t distance = begun ? 0 : EditDistance(word, there);
    if (distance >= least) continue;
    least = distance;
    best = there;
  }
  return best.empty() ? "" : "; did you mean '" + std::string(best) + "'?";
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_SUGGEST_H_
