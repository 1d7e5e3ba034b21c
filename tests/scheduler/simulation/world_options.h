// How large a world is, what its program does, and what goes wrong in it.
#ifndef VRAMSPAN_TESTS_SCHEDULER_SIMULATION_WORLD_OPTIONS_H_
#define VRAMSPAN_TESTS_SCHEDULER_SIMULATION_WORLD_OPTIONS_H_

#include <cstdint>

#include "runtime/base/units.h"
#include "tests/scheduler/simulation/faults.h"

namespace vramspan::simulation {

// So many of 1,000 steps of a thread are each of these; the others are launches of kernels.
struct StepShares {
  uint32_t copies = 0;   // The driver looks up what they name.
  uint32_t unknown = 0;  // May touch anything,
  uint32_t partial = 0;  // or more than it names.
  uint32_t captured = 0;
  uint32_t fetches = 0, evictions = 0, pins = 0;
  uint32_t frees = 0;        // Of some memory, or of new memory if there is little.
  uint32_t waits = 0;        // For the thread's last work.
  uint32_t foreign = 0;      // Work of another context.
  uint32_t queries = 0;      // Of addresses.
  uint32_t random_sets = 0;  // Launches of sets that come once.
  uint32_t given_up = 0;     // The contents of a chunk.
  uint32_t mapped = 0;       // Launches beside which all memory is mapped.
};

struct WorldOptions {
  uint64_t seed = 1;
  uint32_t chunks = 200;
  uint32_t streams = 8, threads = 4;
  uint32_t sets = 40;            // Kernels, each of which has its chunks; run in turns.
  uint32_t most_uses = 6;        // Chunks of a launch.
  uint32_t budget_percent = 60;  // Of all chunks' memory.
  uint32_t smallest = kMinChunkLog2, largest = kMaxChunkLog2;  // Chunks, as log2.
  Duration deadline = std::chrono::milliseconds(20);
  Duration most_think = std::chrono::microseconds(30);  // Between two steps of a thread.
  Duration most_work = std::chrono::microseconds(400);
  uint32_t most_held = 160;   // The program does not run further ahead.
  bool asks_for_room = true;  // Nor does it submit what WorkFlow::Full says is too much.
  const char* policy = "cost";
  bool traced = true;
  bool declared_first = false;  // Who uses a chunk is not known before some work named it.
  bool tracked_late = false;    // Some work was submitted before it was recorded.
  bool knows = false;           // An earlier run has told of some kernels, right or wrong.
  bool shares_context = false;
  bool follows_writers = false;  // By fingerprints behind work.
  bool always_prints = false;
  bool idle_fetches = true;
  bool blocking_copies = false;  // Some threads wait inside the driver for their copies.
  StepShares steps;
  Faults faults;
  uint32_t fault_rate = 20;  // So many times of 1,000 each strikes where it can.
  Sabotage sabotage = Sabotage::kNone;
  uint32_t events = 20'000;  // So many, then all faults and new steps end.
  // That there is never something to do without Scheduler::Due having said when. Not so yet: beside
  // moves it says nothing of waits that end by time alone.
  bool checks_due = false;
  bool log = false;  // Prints what is done.

  static WorldOptions Draw(uint64_t seed);
  const char* size_class() const {
    return chunks < 50 ? "small" : chunks <= 400 ? "median" : "large";
  }
};

}  // namespace vramspan::simulation

#endif  // VRAMSPAN_TESTS_SCHEDULER_SIMULATION_WORLD_OPTIONS_H_
