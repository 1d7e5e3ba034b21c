// What a process says, as the core takes it, and what the core says, as messages.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_BROKER_WORDS_SAID_H_
#define VRAMSPAN_TOOLS_BROKER_WORDS_SAID_H_

#include <algorithm>

#include "runtime/lease/message.h"
#include "runtime/lease/pages.h"
#include "tools/broker/core/action.h"
#include "tools/broker/core/event.h"
#include "tools/broker/core/process.h"

namespace vramspan::broker {

// No time is longer than what a number of its kind holds.
constexpr Duration StalledFor(uint64_t nanoseconds) {
  constexpr auto kMost = static_cast<uint64_t>(Duration::max().count());
  return Duration(static_cast<int64_t>(std::min(nanoseconds, kMost)));
}

inline Said SaidBy(const lease::ProcessPage& page) {
  return {.used = {{page.used_device, page.used_host}},
          .wanted = {{page.wanted_device, page.wanted_host}},
          .cached = page.cached,
          .clean = page.clean,
          .cold = page.cold,
          .works = page.works,
          .stalled = StalledFor(page.stalled),
          .runs = (page.flags & lease::ProcessPage::kRuns) != 0,
          .holds = (page.flags & lease::ProcessPage::kHolds) != 0,
          .waits = (page.flags & lease::ProcessPage::kWaits) != 0};
}

inline bool SameWords(const Said& a, const Said& b) {
  return a.used == b.used && a.wanted == b.wanted && a.cached == b.cached && a.clean == b.clean &&
         a.cold == b.cold && a.works == b.works && a.stalled == b.stalled && a.runs == b.runs &&
         a.holds == b.holds && a.waits == b.waits;
}

constexpr Place PlaceOf(lease::Memory memory) {
  return memory == lease::Memory::kHost ? Place::kHost : Place::kDevice;
}
constexpr lease::Memory MemoryOf(Place place) {
  return place == Place::kHost ? lease::Memory::kHost : lease::Memory::kDevice;
}

// The answer to a recall, as the core takes it.
inline Acknowledges AnswerOf(ProcessId id, const lease::Message& message) {
  using Result = Acknowledges::Result;
  const auto code = static_cast<lease::AckCode>(message.code);
  return {.process = id,
          .place = PlaceOf(message.memory),
          .revision = Revision(message.revision),
          .result = code == lease::AckCode::kDone      ? Result::kDone
                    : code == lease::AckCode::kPartial ? Result::kPartial
                                                       : Result::kDeferred,
          .bytes = message.bytes};
}

// What an action says to its process, but for what the state adds. Grants, recalls, rooms, turns
// and refusals alone are messages.
lease::Message MessageOf(const Action& action, Instant now);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_WORDS_SAID_H_
