// What a simulated program has and does: arrays of a chunk each, kernels that use some of them, and
// the next step of a thread.
#ifndef VRAMSPAN_TESTS_SCHEDULER_SIMULATION_PROGRAM_H_
#define VRAMSPAN_TESTS_SCHEDULER_SIMULATION_PROGRAM_H_

#include <vector>

#include "tests/scheduler/simulation/model_memory.h"
#include "tests/scheduler/simulation/sim_work.h"

namespace vramspan::simulation {

class Program {
 public:
  enum class Step : uint8_t {
    kLaunch,
    kCopy,
    kUnknown,
    kPartial,
    kMapped,
    kCaptured,
    kFetch,
    kEvict,
    kPin,
    kFree,
    kWait,
    kForeign,
    kQuery,
    kGiveUp,
    kCount,
  };

  Program(Common* common, ModelMemory* memory, EvictionPolicy* policy);

  // What an earlier run might have seen of the kernels.
  void TellWhatIsKnown();
  Step NextStep();
  // Fills in what the work is. False: there is nothing that it could touch.
  bool Compose(Step step, uint32_t thread, SimWork* work);
  // Frees the memory of an array, or gives one that has none some, and says whether it did.
  // `in_hand`: whether a thread is about to submit work on the chunk.
  bool Reallocate(absl::FunctionRef<bool(ChunkIndex)> in_hand);
  ChunkIndex SomeChunk();

 private:
  struct Named {
    uint32_t array;
    Use how;
  };
  struct Set {
    uint64_t kernel = 0;
    std::vector<Named> named;
    Duration takes{0};
  };

  void MakeSet(Set* set);
  void Use(const Set& set, SimWork* work);
  void UseSome(uint32_t count, vramspan::Use how, SimWork* work);

  Common& common_;
  ModelMemory& memory_;
  EvictionPolicy& policy_;
  std::vector<ChunkIndex> arrays_;  // 0: has no memory.
  std::vector<Set> sets_;
  std::vector<uint32_t> at_;  // By thread: the set that it launches next.
};

}  // namespace vramspan::simulation

#endif  // VRAMSPAN_TESTS_SCHEDULER_SIMULATION_PROGRAM_H_
