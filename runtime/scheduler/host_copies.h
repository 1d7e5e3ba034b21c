// Which host copies still equal their chunks on the device. What leaves the device unwritten need
// not be copied.
//
// A chunk that comes keeps its host copy: it is a twin. Work that may write it makes the twin
// doubtful. A fingerprint then tells whether it was written: one taken behind the work, or one
// taken when the chunk leaves.
//
// Pure: no clock, no lock. One owner. To take fingerprints and to give host memory back is the
// caller's.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_HOST_COPIES_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_HOST_COPIES_H_

#include <absl/container/flat_hash_map.h>
#include <absl/functional/function_ref.h>

#include <cstdint>
#include <optional>

#include "runtime/base/fingerprint.h"
#include "runtime/scheduler/residency.h"

namespace vramspan {

class HostCopies {
 public:
  explicit HostCopies(Residency* residency) : residency_(*residency) {}

  // --- the chunk comes and goes ---
  // Whether a fingerprint of a chunk that comes would tell something new.
  bool WorthAPrint(ChunkIndex chunk);
  struct Coming {
    bool clean = false;         // There was nothing to copy.
    bool barrier_held = false;  // Work that may write anything waits: it takes away all twins that
                                // have no fingerprint.
    bool host_has_room = false;
    std::optional<Fingerprint> print;  // Of what came, where it was taken.
  };
  // The chunk has come, and is on the device from here on. Whether it keeps its host copy.
  bool Came(ChunkIndex chunk, const Coming& coming);
  struct Leaving {
    bool clean = false;                   // The host holds the same, or there is nothing yet.
    std::optional<Fingerprint> expected;  // Of the host copy: it equals what has the same.
    std::optional<Fingerprint> content;   // Of what leaves, where that is known.
  };
  // The chunk is about to leave. `print`: one can be taken before it is copied.
  Leaving Leaves(ChunkIndex chunk, bool print);
  // It has left, and is on the host from here on. `same`: as its host copy was.
  void Left(ChunkIndex chunk, bool same, const std::optional<Fingerprint>& content);

  // --- it may be written. True: its host copy is of no use any more, and is to be dropped ---
  // Who writes. Work of one thread in one stream comes in order.
  struct Writer {
    uint64_t work = 0;
    uint64_t thread = 0;
    const void* stream = nullptr;
  };
  // By released work.
  struct Write {
    Writer by;
    bool alone = false;    // No other work that may write it runs, also none that was not recorded,
    bool barrier = false;  // but for such as may write anything.
    bool follow = false;   // Fingerprints behind work may tell what is in it then.
  };
  [[nodiscard]] bool MayBeWritten(ChunkIndex chunk, const Write& write);
  // Any memory may be written, but for what is read mostly if so said.
  void AnyMayBeWritten(bool but_read_mostly, absl::FunctionRef<void(ChunkIndex)> drop);

  // --- fingerprints behind work ---
  // One taken now would tell something, as far as is known.
  static bool WorthNow(const Chunk& c);
  // The same of one that is taken when held work is released, which may be some laps from now.
  static bool MayBeWorth(const Chunk& c);
  // What the work left in the chunk. True: drop its host copy.
  [[nodiscard]] bool Found(ChunkIndex chunk, uint64_t work, const Fingerprint& print);

 private:
  template <typename T>
  using ByChunk = absl::flat_hash_map<ChunkIndex, T>;
  // Who may have written a device chunk last (work 0: several, none knows in which order), what was
  // in it behind that, once that is known, and what earlier since it came, where that was known.
  struct LastWriter : Writer {
    std::optional<Fingerprint> left, before;
  };

  // What is known of chunks that are gone is not for those that have their indices now.
  void ForgetRemoved();
  // A twin may be written. True: drop it.
  bool Doubt(ChunkIndex chunk);

  Residency& residency_;
  ByChunk<Fingerprint> copies_;  // Of what the host copies of device chunks hold.
  ByChunk<Fingerprint> hosts_;   // Of host chunks that nothing may have written.
  ByChunk<LastWriter> writers_;
  bool any_twins_ = false;  // False: no chunk has one.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_HOST_COPIES_H_
