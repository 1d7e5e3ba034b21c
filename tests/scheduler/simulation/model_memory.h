// Memory as it really is in a world. Of each chunk: the version of its contents that lies in device
// memory, that which lies in host memory, and which of the two is mapped. A write adds one to the
// version of what is mapped. So a lost write or a stale copy shows as an old version.
#ifndef VRAMSPAN_TESTS_SCHEDULER_SIMULATION_MODEL_MEMORY_H_
#define VRAMSPAN_TESTS_SCHEDULER_SIMULATION_MODEL_MEMORY_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "tests/scheduler/simulation/common.h"
#include "tests/scheduler/simulation/sim_work.h"

namespace vramspan::simulation {

enum class Mapped : uint8_t { kNothing, kDevice, kHost };

struct ModelChunk {
  uint32_t device = 0, host = 0;  // Versions; 0: nothing of worth.
  uint32_t last = 0;              // That was written.
  Mapped mapped = Mapped::kNothing;
  ChunkState state = ChunkState::kNone;  // As it was last seen.
  bool live = false;
  bool changing = false;                      // A call that changes its mapping goes on.
  bool has_device = false, has_host = false;  // Slots.
  // As the world counts what the scheduler counts.
  uint32_t in_flight = 0, queued = 0, in_submission = 0, mapped_only = 0;
  uint32_t detached = 0;  // Copies that were given up, and go on.
  uint32_t pins = 0;
  uint64_t life = 0;    // Another for each chunk of this place.
  uint64_t filled = 0;  // As submissions count: by what it was written, the last of them,
  // when it was given up last, and since when there is nothing in it. 0: there is something.
  uint64_t given_up = 0, undefined_since = 0;
  bool unowned = false;  // It lies in a pool, and nobody has its address;
  uint64_t owned = 0;    // or somebody has been given it since then.

  bool undefined() const { return undefined_since != 0; }
  uint32_t mapped_version() const { return mapped == Mapped::kDevice ? device : host; }
};

class ModelMemory {
 public:
  explicit ModelMemory(Common* common);

  ChunkTable& table() { return *table_; }
  Chunk& chunk(ChunkIndex c) { return (*table_)[c]; }
  ModelChunk& operator[](ChunkIndex c) { return chunks_[c.value]; }
  uint32_t end() const { return table_->end(); }

  // --- the program's ---
  ChunkIndex Add(int log2, EvictionPolicy* policy);  // 0: no more.
  void Free(ChunkIndex c);
  bool any_dying() const { return !dying_.empty(); }
  void Reclaim(EvictionPolicy* policy);
  // What work does to what it uses; `all`: that may be touched, and not only what most likely is.
  void Touch(const SimWork& work, bool all);
  void Write(ChunkIndex c, uint64_t submission);
  // The program does not want what is in it, behind all that was submitted.
  void GiveUp(ChunkIndex c);
  bool undefined(ChunkIndex c) {
    Settle();
    return (*this)[c].undefined();
  }
  // Work that is released, or runs, finds its memory.
  void CheckFound(const SimWork& work, const char* when);
  bool CheckThere(ChunkIndex c, const char* who);
  void CheckMapped(ChunkIndex c, const char* who, uint64_t submission = ~uint64_t{0});
  // For work that needs all memory mapped. `still`: and that none is being remapped.
  void CheckAllMapped(bool still);

  // --- slots ---
  bool TakeDevice(ChunkIndex c);  // False: no room.
  void GiveDevice(ChunkIndex c);
  void TakeHost(ChunkIndex c);
  void GiveHost(ChunkIndex c);
  Bytes used() const { return used_; }
  Bytes budget() const { return budget_; }
  void SetBudget(Bytes budget) { budget_ = budget; }
  Bytes total() const { return total_; }
  Moment At();

  // --- counts: by one, up or down ---
  void Held(const SimWork& work, int by);
  void Released(const SimWork& work, int by);
  void InSubmission(const SimWork& work, int by);

  // Compares the next few chunks with what the scheduler has of them; or one.
  void CheckSome(uint32_t count);
  void Check(ChunkIndex c);
  // Whether nothing is used, moved or asked for any more.
  void CheckIdle();

 private:
  struct GivenUp {
    ChunkIndex chunk;
    uint64_t life, submission;
  };

  void WriteAnywhere(uint64_t submission);
  void Settle();
  void CheckCopies(ChunkIndex c, const ModelChunk& m, const Chunk& real);

  Common& common_;
  std::unique_ptr<ChunkTable> table_;
  std::vector<ModelChunk> chunks_;
  DevicePtr next_{uint64_t{1} << 30};  // Where the next chunk is: they lie side by side.
  std::vector<ChunkIndex> dying_;
  std::deque<GivenUp> given_up_;  // In order, of which some held work is behind.
  uint64_t lives_ = 0;
  Bytes used_, budget_, total_;
  uint32_t next_checked_ = 1;
};

}  // namespace vramspan::simulation

#endif  // VRAMSPAN_TESTS_SCHEDULER_SIMULATION_MODEL_MEMORY_H_
