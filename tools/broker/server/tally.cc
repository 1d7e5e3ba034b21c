#include "tools/broker/server/tally.h"

#include <algorithm>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/recalls.h"

namespace vramspan::broker {

void CountAnswer(const Acknowledges& answer, const Recall& recall, Instant now, Tally& tally,
                 RecallTimes& times) {
  ++tally.answers.at(static_cast<size_t>(answer.result));
  const Bytes given = GivenBack(answer, recall);
  tally.given[answer.place] = Plus(tally.given[answer.place], given);
  if (answer.place == Place::kDevice) {
    tally.moved = Plus(tally.moved, std::min(given, recall.copied));
  }
  const Duration took = std::max<Duration>(now - recall.sent, Duration(0));
  const auto at = std::lower_bound(RecallTimes::kUpTo.begin(), RecallTimes::kUpTo.end(), took);
  ++times.counts.at(static_cast<size_t>(at - RecallTimes::kUpTo.begin()));
  times.sum += took;
}

}  // namespace vramspan::broker
