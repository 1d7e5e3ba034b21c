// One move of one chunk, from the decision to its end.
//
// Pure: plain values. Whoever carries it out knows it by its place.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_CHUNK_MOVE_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_CHUNK_MOVE_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/base/fingerprint.h"
#include "runtime/base/units.h"
#include "runtime/space/chunk.h"

namespace vramspan {

// Why a chunk moves. The numbers stand in files (api/live_record.h): new ones come last.
enum class MoveCause : uint8_t {
  kNeeded = 0,  // To the device: launches that wait use it.
  kExpected,    // Launches use it that are expected next.
  kIdle,        // It is hot, and there is nothing else to do.
  kAskedIn,     // The program asked for that.
  kRoom,        // To the host: for what launches that wait use.
  kRoomAhead,   // For what launches use that are expected next.
  kOverBudget,  // More device memory is used than the budget allows.
  kAskedOut,    // The program asked for that.
};
inline constexpr size_t kMoveCauses = 8;

struct ChunkMove {
  enum class Stage : uint8_t {
    kStarting,   // Memory to copy to is sought.
    kCopying,    // The copy is under way.
    kCopied,     // To be remapped, as soon as no thread hands the address to the driver.
    kRemapping,  // Just now.
    kFailed,     // To be given up: the chunk stays where it was.
    kLost,       // Nothing is mapped, or what was mapped ahead is still: to be mended.
    kDetached,   // Given up, but its copy is still under way.
  };

  ChunkIndex chunk;
  uint32_t place = 0;  // Among the moves; another's once this one is over.
  Stage stage = Stage::kStarting;
  ChunkState origin = ChunkState::kNone;
  bool in = false;     // To the device; else to the host.
  bool clean = false;  // Nothing to copy: the other side holds the same, or there is nothing yet.
  bool explicit_request = false;  // The program asked for it.
  MoveCause cause = MoveCause::kNeeded;
  // Its memory on the device is mapped before its contents are there: the chunk is unmapped.
  bool ahead = false;
  bool print = false;   // On its way in: its fingerprint is to be taken.
  bool lost = false;    // What is mapped is not what the chunk says, by an error.
  bool listed = false;  // No thread may hand the address to the driver; see Reachability.
  Bytes size;
  std::optional<Fingerprint>
      expected;                        // Of what the host copy holds: an equal chunk is not copied.
  std::optional<Fingerprint> content;  // Of what leaves, where that is known; or of what came.
  Instant due;                         // When it was first to be remapped.
};

// What came of a copy.
struct CopyOutcome {
  bool ok = true;
  bool equal = false;  // What leaves is as the host copy: nothing was copied.
  std::optional<Fingerprint> print;
};

// How the mapping of a chunk is to change.
enum class Remapping : uint8_t {
  kSwap,   // Unmap the one memory, map the other.
  kMap,    // Nothing is mapped: map the device's.
  kUnmap,  // Unmap the device's; nothing is mapped on the host.
  kNone,   // It was mapped ahead.
};

// What came of it.
enum class RemapOutcome : uint8_t {
  kDone,
  kAsBefore,  // The driver refused, and the old mapping stands.
  kLost,      // Nothing is mapped.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_CHUNK_MOVE_H_
