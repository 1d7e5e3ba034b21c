// The mover of a world: asks its scheduler what to do, does that in virtual time, with faults, and
// says what came of it.
#ifndef VRAMSPAN_TESTS_SCHEDULER_SIMULATION_MOVER_H_
#define VRAMSPAN_TESTS_SCHEDULER_SIMULATION_MOVER_H_

#include <vector>

#include "tests/scheduler/simulation/model_memory.h"
#include "tests/scheduler/simulation/streams.h"

namespace vramspan::simulation {

class Mover {
 public:
  Mover(Common* common, ModelMemory* memory, Streams* streams, EvictionPolicy* policy);

  // Does what there is to do until a call takes time, or nothing is to be done.
  void Act();
  bool calling() const { return calling_; }
  void EndCall();
  void CopyEnded(const Event& event);

  // Work was let go: now, or when it was submitted.
  void LetGo(SimWork* work, bool was_held);
  void Pin(ChunkIndex c);
  void Unpin(ChunkIndex c);

  // What may touch anything and is none of the scheduler's work, and who looks at addresses.
  int foreign = 0, queries = 0, unknown_in_submission = 0;
  // A thread waits for the release of its work, and copies are stuck behind that.
  void Park() { ++parked_; }
  void Unpark();
  void EndStuck();
  size_t detached() const { return detached_; }
  const uint64_t* acted() const { return acted_; }

 private:
  // A copy, by the place of its move.
  struct Copy {
    ChunkMove* move = nullptr;
    ChunkIndex chunk;
    uint32_t version = 0;  // Of what it carries.
    uint32_t generation = 0;
    bool in = false, equal = false, ok = true;
    bool landed = false;  // It has ended, and the scheduler does not know.
    bool detached = false;
    bool took_host = false;  // It has a host slot of its own.
    bool error = false;      // Something failed.
  };

  Copy& CopyOf(const ChunkMove* move);
  void Sleep(const Moment& at);
  void TellLanded();
  void Perform(const Action& action);
  void Release(SimWork* work);
  void CheckMayMove(ChunkIndex c, const char* what);
  void BeginCall(const Action& action, Duration at_most);
  void BeginEvict(const Action& action);
  void BeginFetch(const Action& action, Bytes available);
  void BeginRemap(const Action& action);
  void BeginMapping(const Action& action);
  void EndEvict(ChunkMove* move);
  void EndFetch(ChunkMove* move);
  void EndRemap(ChunkMove* move);
  void EndMend(ChunkMove* move);
  void EndUnmap(ChunkMove* move);
  void EndMapping(ChunkIndex c);
  void StartCopy(ChunkMove* move);
  void Settle(ChunkMove* move, RemapOutcome outcome);
  void GiveUp(ChunkMove* move);
  void Detach(ChunkMove* move);
  void Lie();

  Common& common_;
  ModelMemory& memory_;
  Streams& streams_;
  EvictionPolicy& policy_;
  std::vector<Copy> copies_;
  std::vector<uint32_t> landed_;  // Places.
  int parked_ = 0;
  std::vector<Event> stuck_;
  size_t detached_ = 0;
  bool calling_ = false;
  Action call_;         // That goes on,
  bool fails_ = false;  // and will fail.
  Remapping how_ = Remapping::kSwap;
  Instant due_ = Instant::max();
  uint32_t due_generation_ = 0;
  uint64_t last_released_ = 0;  // In the order of submission.
  Instant still_since_;
  uint32_t still_ = 0;       // So many actions at that time.
  uint64_t acted_[10] = {};  // By kind.
  friend class World;
};

}  // namespace vramspan::simulation

#endif  // VRAMSPAN_TESTS_SCHEDULER_SIMULATION_MOVER_H_
