// Work of a simulated program, from its making to the moment nobody knows it any more.
#ifndef VRAMSPAN_TESTS_SCHEDULER_SIMULATION_SIM_WORK_H_
#define VRAMSPAN_TESTS_SCHEDULER_SIMULATION_SIM_WORK_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/base/fingerprint.h"
#include "runtime/scheduler/work.h"

namespace vramspan::simulation {

struct SimWork : Work {
  static constexpr uint32_t kNoStream = ~uint32_t{0};

  // A fingerprint that is taken behind it.
  struct Print {
    ChunkIndex chunk;
    Fingerprint print;
  };

  std::vector<ChunkUse> all;       // Of uses, possible and mapped_only.
  std::vector<ChunkIndex> beside;  // Nobody has them: it reads past an end there, at most.
  std::vector<Print> found;
  uint64_t submission = 0;  // In the order in which the scheduler was told.
  uint32_t by = 0;          // The thread.
  uint32_t stream = kNoStream;
  Duration duration{0};
  bool kernels = true;    // Nothing of it is looked up by the driver.
  bool counted = false;   // From before work is recorded: the scheduler counts it, and no more.
  bool blocks = false;    // Its thread stays inside the driver until it has ended.
  bool enqueued = false;  // The device has it,
  bool started = false;   // it runs,
  bool ended = false;     // and has ended.
  bool arrival_seen = false;
  bool spins = false;       // It runs until another has ended.
  bool all_mapped = false;  // No memory may lack its mapping beside it.
  Instant seen_at;          // Not before does the mover see its end or arrival.

  // As new, but for the memory that its vectors have.
  void Renew() {
    SimWork fresh;
    fresh.TakeVectors(this);
    all.clear();
    beside.clear();
    found.clear();
    fresh.all = std::move(all);
    fresh.beside = std::move(beside);
    fresh.found = std::move(found);
    *this = std::move(fresh);
  }
  // So many of `all` are uses, then so many possible.
  void Split(size_t likely, size_t may) {
    const absl::Span<const ChunkUse> span = all;
    uses = span.first(likely);
    possible = span.subspan(likely, may);
    mapped_only = span.subspan(likely + may);
  }
};

}  // namespace vramspan::simulation

#endif  // VRAMSPAN_TESTS_SCHEDULER_SIMULATION_SIM_WORK_H_
