// A chunk: the unit that moves. One physical handle backs it, device or host, always at the same
// address. docs/chunk-states.md lists the states and who may make which transition; this header is
// the code form of that page, and Transition() asserts it in debug builds.
#ifndef VRAMSPAN_RUNTIME_SPACE_CHUNK_H_
#define VRAMSPAN_RUNTIME_SPACE_CHUNK_H_

#include <cstdint>

#include "runtime/base/log.h"
#include "runtime/base/units.h"

namespace vramspan {

enum class ChunkState : uint8_t {
  kNone = 0,  // Not in use; the table entry is free.
  kFresh,     // Placed, never used by GPU work: its contents are undefined, moving copies nothing.
  kDevice,    // Backed by device memory.
  kHost,      // Backed by host memory.
  kDeviceTwin,   // Backed by device memory; the host copy is kept and equal to it.
  kDeviceStale,  // Backed by device memory; the host copy is kept, and may be equal to it still.
  kMoving,       // The mover is at work on it; work that uses it is held.
  kPinned,       // Backed by device memory for good.
};
const char* ChunkStateName(ChunkState state);
bool IsLegalTransition(ChunkState from, ChunkState to);
// Whether a chunk that is mapped to device (or host) memory may be in `state`.
bool StateFitsMemory(ChunkState state, bool on_device);

// What the program said of an allocation (vramspanMemAdvise).
enum class Advice : uint8_t { kNone = 0, kKeepOnDevice, kPreferHost, kStreamedOnce };

// What a chunk holds, once the released work that may touch it has ended: bits.
struct Contents {
  static constexpr uint8_t kSome = 0;
  static constexpr uint8_t kNone = 1;     // The program has given it up.
  static constexpr uint8_t kFreed = 2;    // Nobody has it: it is free, in a pool of the program's.
  static constexpr uint8_t kGivenUp = 4;  // It will hold nothing, behind what is held now.
};

// Indexes the pools of runtime/backing; kNoSlot is none.
inline constexpr uint32_t kNoSlot = 0xffffffffu;

// Work that one count of a chunk may have at most, beside 16,384 looks of a recording at what it
// has mapped (content_watch.h) and the copy of a move that was given up: so none of the counts
// overflows.
inline constexpr uint32_t kMostCounted = 1 << 15;

// Of which chunks all users are counted: of none, of those allocated since work is recorded, of
// all.
enum class Tracking : uint8_t { kNone, kSinceTracking, kAll };

// 32 bytes; with a device and a host slot of 16 bytes each a chunk's metadata stays within 64.
// Guarded by the lock of the runtime that owns it.
struct Chunk {
  DevicePtr base;
  uint32_t device_slot = kNoSlot;  // The device handle mapped at `base`, or being filled.
  uint32_t host_slot = kNoSlot;    // The host handle: mapped at `base`, or the twin.
  uint32_t allocation = 0;         // The allocation it belongs to; 0: a chunk of packed objects.
  uint16_t in_flight = 0;          // Released work that has not finished and may touch it.
  uint16_t queued = 0;             // Held work that may touch it.
  uint16_t in_submission = 0;      // Open scopes whose held work may hand it to the driver.
  uint16_t mapped_only = 0;        // Released work that must find it mapped, and no more.
  ChunkState state : 3 = ChunkState::kNone;
  uint8_t log2_size : 5 = 0;
  Advice advice : 2 = Advice::kNone;
  bool on_device : 1 = false;  // Which memory backs it, also while the state is kFresh or kMoving.
  bool movable : 1 = false;    // Work that declared it has finished: all its users are known.
  bool read_mostly : 1 = false;  // Keep the host copy as a twin when it is fetched.
  bool dying : 1 = false;        // Freed; waits for work in flight.
  bool tracked : 1 = false;      // Allocated since work is recorded: no older work can touch it.
  bool unmapped : 1 = false;     // On the host, and nothing is mapped at `base`.
  bool lost : 1 = false;         // Nothing is mapped at `base`: a remap failed both ways.
  // Fingerprints behind work since it came, or since one told something.
  uint8_t fingerprints_taken : 3 = 0;
  // For so many fetches no fingerprint is taken: the chunk was written before.
  uint8_t skip_fingerprint_for : 2 = 0;
  bool unused : 1 = false;          // It came, and no work has used it since.
  bool last_unchanged : 1 = false;  // The last fingerprint that told something: it was not written.
  // Fingerprints behind held work, yet to be asked for or not.
  uint8_t pending_fingerprints : 5 = 0;
  uint8_t contents : 3 = Contents::kSome;

  Bytes size() const { return ChunkBytes(log2_size); }

  bool empty() const { return (contents & Contents::kNone) != 0; }
  bool freed() const { return (contents & Contents::kFreed) != 0; }
  bool given_up() const { return (contents & Contents::kGivenUp) != 0; }
  // Nobody has it, whatever is held: nothing is put into it.
  bool unowned() const { return empty() && freed() && !given_up(); }
  // Work that may touch it runs. If it was free then, somebody is wrong about that.
  void Touch() {
    contents = given_up() ? static_cast<uint8_t>(contents & ~Contents::kNone) & 7 : Contents::kSome;
  }
  void Set(uint8_t what, bool on) {
    contents = static_cast<uint8_t>(on ? contents | what : contents & ~what) & 7;
  }
  // There is nothing to copy. REQUIRES: no work that has not ended may touch it.
  bool holds_nothing() const { return state == ChunkState::kFresh || empty(); }

  // REQUIRES: a legal transition, and `on_device` already says what `to` wants.
  void Transition(ChunkState to) {
    VS_DCHECK(IsLegalTransition(state, to));
    VS_DCHECK(StateFitsMemory(to, on_device));
    state = to;
  }
};
static_assert(sizeof(Chunk) <= 32);

// Nothing that was released or held may touch it, as far as it is known, and nothing moves it.
inline bool IsUnused(const Chunk& c) {
  return c.in_flight == 0 && c.queued == 0 && c.mapped_only == 0 && c.in_submission == 0 &&
         c.state != ChunkState::kMoving;
}

// True when every work that may touch the chunk is counted in it.
inline bool UsersKnown(const Chunk& c, Tracking tracking) {
  return tracking == Tracking::kAll || (c.tracked && tracking == Tracking::kSinceTracking);
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SPACE_CHUNK_H_
