// One move of one chunk, private to the mover.
#ifndef VRAMSPAN_RUNTIME_MOVER_MOVER_MOVE_H_
#define VRAMSPAN_RUNTIME_MOVER_MOVER_MOVE_H_

#include "runtime/mover/mover.h"

namespace vramspan {

struct Mover::Move {
  ChunkIndex chunk;
  bool in = false;     // To the device; else to the host.
  bool clean = false;  // Nothing to copy: the other side holds the same, or there is nothing yet.
  bool unmapped = false;  // A remap failed both ways: the address shows nothing until mended.
  DevicePtr va;
  int log2 = 0;
  ChunkState origin = ChunkState::kNone;
  uint32_t device_slot = kNoSlot;
  uint32_t host_slot = kNoSlot;
  CopyEngine::Copy copy;
  std::chrono::steady_clock::time_point due;  // When it was first to be remapped.

  Bytes size() const { return ChunkBytes(log2); }
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_MOVER_MOVE_H_
