#include "runtime/api/argument_sets.h"

#include <algorithm>

#include "runtime/observe/trust_list.h"

namespace vramspan {

void ArgumentSets::AddGiven(uint64_t given) {
  const auto known = std::find_if(given_.begin(), given_.end(),
                                  [given](const GivenLaunches& g) { return g.given == given; });
  if (known != given_.end()) {
    ++known->launches;
  } else if (given_.size() < kMostGiven) {
    given_.push_back({given, 1});
  }
}

void ArgumentSets::Add(uint64_t arguments, uint64_t given, uint64_t sectors, bool shows) {
  const bool above = sectors >= TrustList::kNoise;
  shown_ += shows;
  doubts_ |= above;
  if (!above || sectors >= kLittle) most_ = std::max(most_, sectors);
  const bool further = sets_.size() >= kMost && !sets_.contains(arguments);
  Set& set = further ? beyond_ : sets_[arguments];
  if (shows && !above && !set.clean && !further) ++clean_;
  set.clean |= (shows && !above) || further;
  if (shows && !above) AddGiven(given);
  if (!above) return;
  set.most = std::max(set.most, sectors);
  ++set.above;
}

bool ArgumentSets::MayTell(uint64_t arguments) const {
  if (most_ >= TrustList::kNoise) return false;  // It has missed, whatever comes.
  if (doubts_ || shown_ < kEnoughToTell) return true;
  return clean_ < kEnoughToTell && !Clean(arguments);
}

void ArgumentSets::AddDoubts(const ArgumentSets& arrays) {
  for (const auto& [arguments, set] : arrays.sets_) {
    if (set.above == 0) continue;
    Set& mine = sets_[arguments];
    if (mine.clean) continue;
    mine.most = std::max(mine.most, set.most);
    mine.above += set.above;
  }
  beyond_.most = std::max(beyond_.most, arrays.beyond_.most);
  beyond_.above += arrays.beyond_.above;
}

HostSectors ArgumentSets::taken() const {
  HostSectors taken{.most = most_, .doubtful = beyond_.above, .doubtful_most = beyond_.most};
  for (const auto& [arguments, set] : sets_) {
    if (set.above >= 2 && !set.clean) {
      taken.most = std::max(taken.most, set.most);
    } else {
      taken.doubtful += set.above;
      taken.doubtful_most = std::max(taken.doubtful_most, set.most);
    }
  }
  return taken;
}

}  // namespace vramspan
