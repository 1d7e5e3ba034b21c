// Whether kernels change the memory that they name, for a recording: what moves shows that by
// itself, what never moves does not. Fingerprints of each large chunk are taken in the program's
// streams, behind a few of the launches that name it, and each is compared with the one before.
//
// Only while the mover is not tracking and inside a scope: then nothing moves before what is queued
// here has run. Threads: any.
#ifndef VRAMSPAN_RUNTIME_API_CONTENT_WATCH_H_
#define VRAMSPAN_RUNTIME_API_CONTENT_WATCH_H_

#include <absl/container/flat_hash_map.h>
#include <absl/types/span.h>

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/memory/memory.h"
#include "runtime/mover/stream_fingerprints.h"
#include "runtime/trace/events.h"

namespace vramspan {

class ContentWatch {
 public:
  // Behind these of the launches that name a chunk. The first makes it, as a rule. Odd ones and
  // even ones, for what is written by one launch and read by the next is the same behind both.
  static constexpr uint32_t kBehind[] = {3, 8, 21, 55};
  using Compared = std::function<void(const trace::CompareEvent&)>;

  // May wait for the context's work. `memory` and the context outlive it; `compared` is called
  // under the memory lock.
  static StatusOr<std::unique_ptr<ContentWatch>> Create(std::shared_ptr<const Driver> driver,
                                                        CUcontext context, Memory* memory,
                                                        Compared compared);
  ~ContentWatch();

  // There is other memory than before.
  void Made(DevicePtr base, Bytes size) VS_EXCLUDES(memory_.mu);
  // The same of what the program mapped itself, and unmaps as soon as it knows, by whatever means,
  // that its own work has ended (a free waits for all work): its fingerprints keep it mapped.
  void Mapped(DevicePtr base, Bytes size) VS_REQUIRES(memory_.mu);

  // Work `id` names these ranges. Which of their fingerprints are due, by a number; 0: none.
  uint64_t Due(absl::Span<const trace::TracedRange> ranges, uint64_t id) VS_EXCLUDES(memory_.mu);
  // Puts them into the stream of that work, behind it. Once for each number. Where this is true,
  // Done must follow when they have been taken, or Lost.
  bool Queue(uint64_t number, CUstream stream) VS_EXCLUDES(memory_.mu);
  // They will not be queued.
  void Drop(uint64_t number) VS_EXCLUDES(memory_.mu);
  void Done(uint64_t number) VS_EXCLUDES(memory_.mu);
  // Nobody will say when they have been taken. `run`: they may be yet, so those that have not begun
  // are called off.
  void Lost(uint64_t number, bool run) VS_EXCLUDES(memory_.mu);
  // Nobody will say any more that they are done: none is due from here on, and nothing is kept
  // mapped for those under way. Other threads may be between Due and Queue or Drop.
  void Abandon() VS_EXCLUDES(memory_.mu);
  // The chunks go: their fingerprints that have not begun are not taken. Whether any may be under
  // way.
  bool CallOff(absl::Span<const ChunkIndex> chunks) VS_REQUIRES(memory_.mu);

 private:
  struct State {
    uint64_t life = 0;     // Of the memory there.
    uint64_t touched = 0;  // The last work that named it.
    uint32_t touches = 0;
    uint8_t taken = 0;    // Fingerprints, those under way counted in.
    bool mapped = false;  // By the program.
    uint64_t last = 0;    // The latest work whose fingerprint is known, 0: none; and what it is.
    Fingerprint print;
  };
  struct Print {
    ChunkIndex chunk;
    uint64_t life;
    StreamFingerprints::Piece piece;
  };
  struct Batch {
    uint64_t id;
    std::vector<Print> prints;
  };

  ContentWatch(std::shared_ptr<const Driver> driver, CUcontext context, Memory* memory,
               Compared compared)
      : driver_(std::move(driver)),
        context_(context),
        memory_(*memory),
        compared_(std::move(compared)) {}
  // What settled_ has for ranges with this hash that need no more looks.
  uint64_t SettledMark(uint64_t hash) const;
  State& StateOf(ChunkIndex index) VS_REQUIRES(memory_.mu);
  void Begin(DevicePtr base, Bytes size, bool mapped) VS_REQUIRES(memory_.mu);
  // The fingerprint needs its memory no longer.
  void LetGo(const Print& p) VS_REQUIRES(memory_.mu);

  const std::shared_ptr<const Driver> driver_;
  const CUcontext context_;
  Memory& memory_;
  const Compared compared_;
  std::unique_ptr<StreamFingerprints> fingerprints_;
  // Most launches name what no more fingerprints are taken of: a mark by the hash of their ranges
  // spares the look at each chunk, and the lock. All are void when `changes_` grows.
  static constexpr int kSettledBits = 12;
  std::vector<std::atomic<uint64_t>> settled_ =
      std::vector<std::atomic<uint64_t>>(size_t{1} << kSettledBits);
  std::atomic<uint64_t> changes_{1};
  std::vector<State> states_ VS_GUARDED_BY(memory_.mu);  // By chunk.
  uint64_t lives_ VS_GUARDED_BY(memory_.mu) = 0;
  uint64_t numbers_ VS_GUARDED_BY(memory_.mu) = 0;
  bool abandoned_ VS_GUARDED_BY(memory_.mu) = false;
  absl::flat_hash_map<uint64_t, Batch> batches_ VS_GUARDED_BY(memory_.mu);
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_CONTENT_WATCH_H_
