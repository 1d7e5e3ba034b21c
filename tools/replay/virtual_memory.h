// The chunks of a recorded program, the memory that backs them, and what a replay knows of them
// beside what the runtime does.
#ifndef VRAMSPAN_TOOLS_REPLAY_VIRTUAL_MEMORY_H_
#define VRAMSPAN_TOOLS_REPLAY_VIRTUAL_MEMORY_H_

#include <array>
#include <memory>
#include <vector>

#include "runtime/base/fingerprint.h"
#include "runtime/space/chunk_table.h"
#include "tools/replay/chunked_run.h"
#include "tools/replay/replay_result.h"
#include "tools/replay/run_recorder.h"
#include "tools/replay/simulated_slots.h"

namespace vramspan::replay {

struct ChunkFacts {
  uint32_t unwritten_from = 0;  // Or that works behind this one leave it as it is.
  uint32_t version = 0;         // What is in it: one more than the last work that wrote it.
  bool written = false;         // By work, since it came, as far as the record says.
  bool unwritten = false;       // The record shows that kernels leave it as it is.
  bool has_host = false;        // Host memory was made for it.
  bool alias = false;           // Its memory on the device has one.
};

class VirtualMemory {
 public:
  // All outlive it.
  VirtualMemory(const ChunkedRun* chunks, const ReplayPrices& prices, Bytes device_memory,
                RunRecorder* recorder);

  ChunkTable& table() { return *table_; }
  Chunk& operator[](ChunkIndex c) { return (*table_)[c]; }
  const Chunk& operator[](ChunkIndex c) const { return (*table_)[c]; }
  ChunkFacts& facts(ChunkIndex c) { return facts_[c.value]; }
  const ChunkFacts& facts(ChunkIndex c) const { return facts_[c.value]; }

  Bytes budget() const { return budget_; }
  Bytes used() const { return used_; }
  Bytes available() const { return used_ < budget_ ? budget_ - used_ : Bytes(0); }
  Bytes cached() const { return slots_.bytes(); }  // Kept for chunks to come.
  Bytes allocated() const { return allocated_; }
  // Host memory of chunks, with copies of what is on the device.
  Bytes on_host() const { return on_host_; }
  // Both: the calls that give back what is kept beyond it take so many microseconds.
  double SetBudget(Bytes budget) {
    budget_ = budget;
    budget_changes_ = true;
    return Trim();
  }
  double Trim() { return budget_changes_ ? slots_.Trim(available()) : 0; }

  // --- the program's allocations ---
  // Memory of less than a chunk, which always fits.
  void AddPacked(uint64_t now, Bytes size);
  void RemovePacked(uint64_t now, Bytes size);
  // A chunk comes to be: on the device if it fits there, which is returned.
  bool Add(uint64_t now, ChunkIndex c, uint32_t allocation);
  // The program frees it.
  void Free(ChunkIndex c);
  // It is free, and nothing uses it: whether it is gone now. `*was_on_device`: it was there.
  bool Reclaim(uint64_t now, ChunkIndex c, bool* was_on_device);
  uint32_t dying() const { return dying_; }  // Freed, and not gone.

  // --- moves ---
  // What making host memory for the chunk takes, where it has none, in nanoseconds.
  uint64_t MakeHost(ChunkIndex c);
  // Memory for a chunk that is to come: what the calls for it take, in microseconds. `alias`: a
  // mapping of it beside is wanted, for the copy.
  double TakeSlot(ChunkIndex c, bool alias);
  // It has come, and it has left.
  void Came(uint64_t now, ChunkIndex c);
  void Left(uint64_t now, ChunkIndex c);
  // Memory lives in host memory, or did.
  bool host_used() const { return made_host_; }

  // --- what is in it ---
  // Work that may write it is let go. The record may say that it does not.
  void MayWrite(ChunkIndex c, uint32_t work) {
    ChunkFacts& f = facts(c);
    if (f.unwritten || work > f.unwritten_from) return;
    f.written = true;
    f.version = work + 1;
  }
  Fingerprint PrintOf(ChunkIndex c, uint32_t version) const { return {c.value, version}; }

 private:
  const ReplayPrices prices_;
  Bytes budget_;
  bool budget_changes_ = false;
  RunRecorder& recorder_;
  std::unique_ptr<ChunkTable> table_;
  std::vector<ChunkFacts> facts_;
  Bytes used_, allocated_, on_host_;
  SimulatedSlots slots_;
  uint32_t dying_ = 0;
  bool made_host_ = false;
  std::array<uint32_t, kChunkSizeCount> spare_host_{};  // Made, and its chunk was freed.
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_VIRTUAL_MEMORY_H_
