#include "tools/broker/core/word.h"

#include <algorithm>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"

namespace vramspan::broker {
namespace {

// Takes up to `bytes` from `from`, and says how much is left to take.
Bytes TakeFrom(Bytes& from, Bytes bytes) {
  const Bytes taken = std::min(from, bytes);
  from -= taken;
  return bytes - taken;
}

}  // namespace

void TakeWord(Process& process, const Said& said) {
  Said& kept = process.said;
  for (const Place place : kPlaces) {
    kept.used[place] = std::min(said.used[place], process.leases[place].grant);
    // As much as it likes: sums end at the largest number, and shares at the capacity. Cut here,
    // its demand would grow with what it is granted.
    kept.wanted[place] = said.wanted[place];
  }
  Bytes rest = kept.used[Place::kDevice];
  const auto part = [&](Bytes bytes) {
    const Bytes taken = std::min(bytes, rest);
    rest -= taken;
    return taken;
  };
  kept.cached = part(said.cached);
  kept.clean = part(said.clean);
  kept.cold = part(said.cold);
  kept.works = said.works;
  kept.stalled = std::max(said.stalled, Duration(0));
  kept.runs = said.runs;
  kept.holds = said.holds;
  kept.waits = said.waits;
}

void ReckonGiven(Process& process, Place place, Bytes copied) {
  Said& said = process.said;
  const Bytes grant = process.leases[place].grant;
  if (place == Place::kDevice) {
    // In the order in which it costs least. What was in use, clean memory as well, is wanted back.
    const Bytes in_use = TakeFrom(said.cached, Minus(said.used[place], grant));
    const Bytes not_clean = TakeFrom(said.clean, in_use);
    const Bytes hot = TakeFrom(said.cold, not_clean);
    said.wanted[place] = Plus(said.wanted[place], in_use - not_clean + hot);
    said.used[Place::kHost] =
        std::min(Plus(said.used[Place::kHost], copied), process.leases[Place::kHost].grant);
  }
  said.used[place] = std::min(said.used[place], grant);
}

}  // namespace vramspan::broker
