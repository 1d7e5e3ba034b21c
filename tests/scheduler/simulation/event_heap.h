// What will happen, by virtual time. What happens at one time comes in the order of its adding.
#ifndef VRAMSPAN_TESTS_SCHEDULER_SIMULATION_EVENT_HEAP_H_
#define VRAMSPAN_TESTS_SCHEDULER_SIMULATION_EVENT_HEAP_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/base/units.h"

namespace vramspan::simulation {

struct Event {
  enum class Kind : uint8_t {
    kThread,   // Of number `which`: it goes on.
    kWorkEnd,  // The first of a stream ends.
    kCopyEnd,  // The copy of a move, by its place.
    kCallEnd,  // The mover's call.
    kDue,      // The scheduler wanted to be asked.
    kSeen,     // What was seen late is seen.
    kOutside,  // Something from outside the program: budgets, faults of all.
  };
  Instant at;
  uint64_t order = 0;
  Kind kind = Kind::kDue;
  uint32_t which = 0;
  uint32_t generation = 0;  // Of whatever it is of: another's is of no interest any more.
};

class EventHeap {
 public:
  bool empty() const { return events_.empty(); }
  const Event& next() const { return events_.front(); }

  void Add(Instant at, Event::Kind kind, uint32_t which, uint32_t generation = 0) {
    events_.push_back({at, order_++, kind, which, generation});
    std::push_heap(events_.begin(), events_.end(), Later);
  }
  Event Take() {
    std::pop_heap(events_.begin(), events_.end(), Later);
    const Event event = events_.back();
    events_.pop_back();
    return event;
  }

 private:
  static bool Later(const Event& a, const Event& b) {
    return a.at != b.at ? a.at > b.at : a.order > b.order;
  }

  std::vector<Event> events_;
  uint64_t order_ = 0;
};

}  // namespace vramspan::simulation

#endif  // VRAMSPAN_TESTS_SCHEDULER_SIMULATION_EVENT_HEAP_H_
