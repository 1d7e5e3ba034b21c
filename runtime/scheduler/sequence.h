// What comes after what: recognises launches that come again in the same order (forecast.h), and
// says what the next ones will want, as they wanted it the last time.
//
// Bounded: all sets are forgotten once there are too many (move_limits.h). Pure: no clock, no lock.
// One owner.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_SEQUENCE_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_SEQUENCE_H_

#include <absl/container/flat_hash_map.h>
#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "runtime/placement/forecast.h"
#include "runtime/placement/kernel_history.h"
#include "runtime/placement/types.h"
#include "runtime/scheduler/foresight.h"
#include "runtime/scheduler/work.h"

namespace vramspan {

class Sequence {
 public:
  // The same for all work of the same kernel on the same chunks, before it is priced and after; 0
  // for work that most likely touches none.
  static uint64_t Signature(const Work& work) { return Signature(HashOf(work.uses), work.kernel); }
  static uint64_t Signature(uint64_t hash_of_uses, uint64_t kernel);
  static uint64_t HashOf(absl::Span<const ChunkUse> uses);  // 0 for none.

  struct Seen {
    bool counts = false;     // It is part of the sequence.
    bool expected = false;   // It was.
    bool forgotten = false;  // What Next gave before is no longer true.
    // The same, but of its own signature only: that wants these now.
    std::optional<absl::Span<const ChunkIndex>> changed;
  };
  // Work was submitted, and is priced. It gets the version of what it wanted before, where it wants
  // the same.
  Seen Saw(Work* work);

  // Calls `expect` with what is expected after the last work and `skipped` others, in order: at
  // most so many, as far as it is known what they want. Their ids are signatures. Their chunks are
  // good until Saw says that they are forgotten, or have changed.
  void Next(size_t skipped, size_t most, const KernelHistory& history,
            absl::FunctionRef<void(const QueuedWork&)> expect);
  bool confident() const { return forecast_.confident(); }
  // So many works ahead it is worth to look: far, where what is expected far ahead comes about as
  // surely as what is expected next. Where a program chooses what comes next, the next works may be
  // sure, and what is expected behind them displaces what it may choose. Where some of its memory
  // is elsewhere in each round, near and far are unsure alike, and the rest is worth looking at.
  size_t sight() const;
  // Works may have been submitted that it did not see.
  void Interrupted() { forecast_.Interrupted(); }
  uint64_t hits() const { return forecast_.hits(); }
  uint64_t misses() const { return forecast_.misses(); }

 private:
  // How many works ahead is near, and far; and how sure far must be, of how sure near is. Choices,
  // tried on replays of seven recordings and of programs that choose between models
  // (docs/findings/0055-how-far-ahead-to-look.md).
  static constexpr uint64_t kNear = 32, kFar = 512;
  static constexpr double kAsSure = 0.75;
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
  static constexpr uint32_t kNoSet = std::numeric_limits<uint32_t>::max();
  struct Set {
    uint64_t signature = 0;
    uint64_t kernel = 0;
    uint64_t version = 0;
    // What the history expects of the kernel, as of its expected_changes.
    uint64_t duration = 0, known_at = kNever;
    std::vector<ChunkIndex> chunks;
  };

  // Whether what came was expected before; and what is expected now.
  void LookBack(const Work& work);
  // Of the work that the forecast remembers there; null: it is not known.
  Set* SetAt(size_t place);

  Forecast forecast_;
  Foresight near_{kNear}, far_{kFar};
  uint64_t counted_ = 0;
  std::vector<Set> sets_;                           // What work of a signature wanted last.
  absl::flat_hash_map<uint64_t, uint32_t> set_of_;  // By signature.
  // By place in the forecast's memory, once it was asked for.
  std::vector<uint32_t> set_at_ = std::vector<uint32_t>(forecast_.places(), kNoSet);
  size_t chunks_ = 0;  // Of all sets.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_SEQUENCE_H_
