// What all parts of a world share.
#ifndef VRAMSPAN_TESTS_SCHEDULER_SIMULATION_COMMON_H_
#define VRAMSPAN_TESTS_SCHEDULER_SIMULATION_COMMON_H_

#include <cstdarg>
#include <cstdint>
#include <cstdio>

#include "runtime/base/mix.h"
#include "runtime/scheduler/scheduler.h"
#include "tests/scheduler/simulation/event_heap.h"
#include "tests/scheduler/simulation/random.h"
#include "tests/scheduler/simulation/verdict.h"
#include "tests/scheduler/simulation/world_options.h"

namespace vramspan::simulation {

struct Common {
  explicit Common(const WorldOptions& o)
      : options(o), random(o.seed ^ 0x5eed), draining(o.tracked_late) {}

  const WorldOptions options;
  Random random;
  EventHeap heap;
  bool draining;  // Work from before it is recorded runs.
  Instant now;
  Verdict verdict;
  Scheduler* scheduler = nullptr;
  // What the scheduler was told, in order: work, memory that was given up, writes it knows not of.
  uint64_t submissions = 0;
  uint64_t events = 0;  // That happened, and actions that were taken.
  uint64_t log = 0;     // A hash of all that was done: the same for the same seed.
  bool faults_on = true;
  bool wakes = false;  // Something came to be for which threads may wait.
  bool quiet = false;  // Time has passed, and nothing else has happened.
  bool dead = false;   // The context.
  Duration slow{0};    // Spent in calls that took long, or while a mapping was lost.
  uint64_t lies = 0;

  bool Strikes(Fault fault) {
    return faults_on && options.faults.Has(fault) && random.Chance(options.fault_rate);
  }
  // Whether to lie here and now. Of trust always: who is not trusted has all memory mapped for
  // long.
  bool Lies(Sabotage sabotage) {
    if (options.sabotage != sabotage || events < 1000) [[likely]]
      return false;
    if (sabotage != Sabotage::kTrustTooMuch && !random.Chance(100)) return false;
    ++lies;
    return true;
  }
  // `what`: of at most eight letters.
  void Log(const char* what, uint64_t a, uint64_t b = 0) {
    log = Mix(log, Mix(static_cast<uint64_t>(what[0]) << 8 | static_cast<uint64_t>(what[1]),
                       Mix(a, b + static_cast<uint64_t>(now.time_since_epoch().count()))));
    if (!options.log) [[likely]]
      return;
    std::printf("%12.3f %-8s %6llu %llu\n",
                static_cast<double>(now.time_since_epoch().count()) / 1e3, what,
                static_cast<unsigned long long>(a), static_cast<unsigned long long>(b));
  }
};

}  // namespace vramspan::simulation

#endif  // VRAMSPAN_TESTS_SCHEDULER_SIMULATION_COMMON_H_
