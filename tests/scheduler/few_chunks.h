// A few chunks and work on them, for tests of decisions.
#ifndef VRAMSPAN_TESTS_SCHEDULER_FEW_CHUNKS_H_
#define VRAMSPAN_TESTS_SCHEDULER_FEW_CHUNKS_H_

#include <memory>
#include <vector>

#include "runtime/scheduler/residency.h"
#include "runtime/scheduler/work.h"

namespace vramspan {

// Chunks 1, 2, ... of 16 MiB, on the host, that may be moved.
class FewChunks {
 public:
  static constexpr int kLog2 = 24;

  explicit FewChunks(uint32_t count)
      : table_(ChunkTable::Create(count).value()), residency_(table_.get()) {
    residency_.Track(Tracking::kAll);
    for (uint32_t i = 0; i < count; ++i) Add();
  }

  Residency& residency() { return residency_; }
  ChunkTable& table() { return *table_; }
  Chunk& operator[](uint32_t chunk) { return (*table_)[ChunkIndex(chunk)]; }
  void Fetch(uint32_t chunk) {
    Chunk& c = (*this)[chunk];
    c.Transition(ChunkState::kMoving);
    c.on_device = true;
    c.Transition(ChunkState::kDevice);
  }
  void Evict(uint32_t chunk) {
    Chunk& c = (*this)[chunk];
    c.Transition(ChunkState::kMoving);
    c.on_device = false;
    c.Transition(ChunkState::kHost);
  }
  // It is freed, and the next takes its index.
  void Replace(uint32_t chunk) {
    table_->Remove(ChunkIndex(chunk));
    Add();
  }
  // It is on its way to the other memory.
  void Moves(uint32_t chunk) { (*this)[chunk].Transition(ChunkState::kMoving); }

 private:
  void Add() {
    Chunk& c = (*table_)[table_->Add().value()];
    c.log2_size = kLog2;
    c.allocation = 1;
    c.movable = true;
    c.Transition(ChunkState::kFresh);
    c.Transition(ChunkState::kHost);
  }

  std::unique_ptr<ChunkTable> table_;
  Residency residency_;
};

// Work that most likely touches some chunks, may touch others, and needs the last only mapped.
struct SomeWork : Work {
  explicit SomeWork(std::vector<uint32_t> likely, std::vector<uint32_t> may = {},
                    std::vector<uint32_t> loose = {}) {
    for (const uint32_t c : likely) own_uses.push_back({ChunkIndex(c), {.slot = 0}});
    for (const uint32_t c : may) own_possible.push_back({ChunkIndex(c), {.possible = true}});
    for (const uint32_t c : loose) {
      own_loose.push_back({ChunkIndex(c), {.possible = true, .mapped_only = true}});
    }
    uses = own_uses;
    possible = own_possible;
    mapped_only = own_loose;
    static uint64_t next = 1;
    id = next++;
    WantTheRest();
  }
  SomeWork(const SomeWork&) = delete;
  SomeWork& operator=(const SomeWork&) = delete;

  std::vector<ChunkUse> own_uses, own_possible, own_loose;
};

}  // namespace vramspan

#endif  // VRAMSPAN_TESTS_SCHEDULER_FEW_CHUNKS_H_
