// What is counted while the daemon runs: what came of recalls, how long work waited, who was
// refused.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_TALLY_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_TALLY_H_

#include <array>
#include <cstdint>

#include "runtime/base/units.h"
#include "tools/broker/core/event.h"
#include "tools/broker/core/lease.h"
#include "tools/broker/core/names.h"

namespace vramspan::broker {

// Of one tenant on one device. It ends with the tenant.
struct Tally {
  std::array<uint64_t, 3> answers = {};  // By Acknowledges::Result.
  PerPlace<Bytes> given;                 // Back, on recalls.
  Bytes moved;                           // What of that the process had leave to copy to the host.
  Duration stalled{};                    // As its processes say.
};

// How long recalls took to be answered, of one device.
struct RecallTimes {
  static constexpr std::array<Duration, 8> kUpTo = {
      std::chrono::milliseconds(5),   std::chrono::milliseconds(10),
      std::chrono::milliseconds(25),  std::chrono::milliseconds(50),
      std::chrono::milliseconds(100), std::chrono::milliseconds(250),
      std::chrono::milliseconds(500), std::chrono::milliseconds(2500)};
  std::array<uint64_t, kUpTo.size() + 1> counts = {};  // Of each of them; the last is beyond.
  Duration sum{};
};

// Of the broker.
struct Counts {
  uint64_t reconnects = 0;                // Processes that held memory before.
  std::array<uint64_t, 6> refusals = {};  // By lease::RefuseCode.
};

// The recall has been answered.
void CountAnswer(const Acknowledges& answer, const Recall& recall, Instant now, Tally& tally,
                 RecallTimes& times);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_TALLY_H_
