// Work in a stream of the program, from its submission to the moment the GPU has finished it: what
// the mover knows of it beside what decisions need.
#ifndef VRAMSPAN_RUNTIME_MOVER_STREAM_WORK_H_
#define VRAMSPAN_RUNTIME_MOVER_STREAM_WORK_H_

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/scheduler/work.h"

namespace vramspan {

struct StreamState;

struct StreamWork : Work {
  uint64_t tag = 0;               // What the listener knows it by; 0: nothing.
  bool counted = false;           // Chunks may count it; see WorkPool.
  bool pinned = false;            // What came of a kPin.
  StreamState* stream = nullptr;  // None for work that the host waits for.
  uint32_t recording = 0;         // ProgramStreams::recording, when it was submitted.
  uint32_t hold = 0;              // The value its stream's flag must reach.
  // Marks in its stream. Before the hold, where some chunk's earlier users are not known: once the
  // stream has come this far, whatever the program did to the memory before is done. And behind it.
  std::optional<uint32_t> arrival;
  std::optional<uint32_t> end;  // Once it is submitted; none: nothing will tell, and it is over.
  std::vector<ChunkUse> all;    // Of its uses: likely, possible, mapped only.

  // As new, but for the memory that its vectors have.
  void Renew() {
    StreamWork fresh;
    fresh.TakeVectors(this);
    all.clear();
    fresh.all = std::move(all);
    *this = std::move(fresh);
  }
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_STREAM_WORK_H_
