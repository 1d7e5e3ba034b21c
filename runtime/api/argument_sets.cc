#include "runtime/api/argument_sets.h"

#include <algorithm>

#include "runtime/observe/trust_list.h"

namespace vramspan {

void ArgumentSets::AddGiven(uint64_t given, bool of_new_set) {
  auto known = std::find_if(given_.begin(), given_.end(),
                            [given](const GivenLaunches& g) { return g.given == given; });
  if (known == given_.end()) {
    if (given_.size() == kMostGiven) return;
    known = given_.insert(given_.end(), {.given = given});
  }
  ++known->launches;
  known->sets += of_new_set;
}

void ArgumentSets::Add(const CountedLaunch& launch) {
  const auto [arguments, given, sectors, shows, run] = launch;
  const bool above = sectors >= TrustList::kNoise;
  shown_ += shows;
  doubts_ |= above;
  if (!above || sectors >= kLittle) most_ = std::max(most_, sectors);
  const bool further = sets_.size() >= kMost && !sets_.contains(arguments);
  Set& set = further ? beyond_ : sets_[arguments];
  if (further) set.clean = 1;  // It is no miss that two of them took as much.
  if (!above) {
    if (!shows) return;
    AddGiven(given, set.clean == 0);
    if (further) return;
    clean_ += set.clean == 0;
    ++set.clean;
    return;
  }
  set.given = set.above == 0 || set.given == given ? given : 0;
  set.most = std::max(set.most, sectors);
  ++set.above;
  set.runs += set.run != run;
  set.run = run;
}

bool ArgumentSets::Contradicted(const Set& set) const {
  if (set.clean >= kEnoughAlike) return true;
  return std::any_of(given_.begin(), given_.end(), [&set](const GivenLaunches& g) {
    return g.given != 0 && g.given == set.given && g.launches >= kEnoughAlike &&
           g.sets >= TrustList::kProvenSets;
  });
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
    if (mine.clean != 0) continue;
    mine.given = mine.above == 0 || mine.given == set.given ? set.given : 0;
    mine.most = std::max(mine.most, set.most);
    mine.above += set.above;
    mine.runs += set.runs;
  }
  beyond_.most = std::max(beyond_.most, arrays.beyond_.most);
  beyond_.above += arrays.beyond_.above;
}

HostSectors ArgumentSets::taken() const {
  HostSectors taken{.most = most_, .doubtful = beyond_.above, .doubtful_most = beyond_.most};
  for (const auto& [arguments, set] : sets_) {
    if (set.runs >= 2 && set.clean == 0) {
      taken.most = std::max(taken.most, set.most);
    } else if (set.above != 0) {
      taken.doubtful += set.above;
      taken.doubtful_most = std::max(taken.doubtful_most, set.most);
      if (Contradicted(set)) taken.contradicted += set.above;
    }
  }
  return taken;
}

}  // namespace vramspan
