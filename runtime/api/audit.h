// The audit (docs/audit.md): before each traced launch exactly what was inferred for it is put on
// the device and all else into host memory, and the GPU's counters tell what the launch takes from
// host memory all the same. Launches run one at a time, each to its end before the call returns.
//
// Results go into a file of their own for each runtime, in the folder that VRAMSPAN_AUDIT names
// (audit_results.h), after every batch of counters and at the end.
//
// Threads: any; a submission keeps its turn from Enter to Exit, and the others wait for theirs. A
// submission that waits for another's thread would wait in vain, so after kPatience it goes ahead
// uncounted, and where a launch does not end within that time nothing is counted any more.
#ifndef VRAMSPAN_RUNTIME_API_AUDIT_H_
#define VRAMSPAN_RUNTIME_API_AUDIT_H_

#include <absl/container/flat_hash_map.h>
#include <absl/types/span.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "runtime/api/argument_sets.h"
#include "runtime/api/audit_results.h"
#include "runtime/api/noisy_runs.h"
#include "runtime/base/mutex.h"
#include "runtime/mover/mover.h"
#include "runtime/observe/hardware_counters.h"
#include "runtime/observe/submission.h"
#include "runtime/observe/working_sets.h"

namespace vramspan {

class Audit {
 public:
  static constexpr std::chrono::seconds kPatience{60};
  static constexpr uint64_t kByTurns = 256;
  // After so many launches in a row for which the counters would not start they are given up.
  static constexpr size_t kMostRefused = 256;

  // The folder of the results, where this process is audited.
  static std::optional<std::string> Folder();
  // Tells the folder why there is no audit of this runtime. Returns `why`.
  static Status Refuse(const std::string& folder, const Status& why);

  // Opens the counters. `memory` and `mover` outlive the audit. An error has been told to the
  // folder.
  static StatusOr<std::unique_ptr<Audit>> Open(const std::string& folder, const Driver& driver,
                                               CUdevice device, Memory* memory, Mover* mover);
  // Collects what is counted, and completes the results. REQUIRES: nothing is inside Enter or Exit.
  ~Audit();
  Audit(const Audit&) = delete;
  Audit& operator=(const Audit&) = delete;

  // Whether the launch is to show if it stays in arrays (Trust::kArrays). Launches are asked about
  // that and about allocations by turns, many at a time: each change moves much memory. By turns
  // that do not repeat (Thue and Morse's), or loops might see one kind alone.
  bool ByArrays() const {
    return for_trust_ && std::popcount(launches_.load(std::memory_order_relaxed) / kByTurns) % 2;
  }
  // The calling thread is about to submit this. True: the mover's scope is open, and Exit must
  // follow on this thread before that is ended.
  bool Enter(const Submission& s, absl::Span<const InferredRange> inferred);
  void Exit(CUstream stream);

 private:
  // Where the memory of a launch lies, against where it should.
  struct Placed {
    Bytes inferred;
    Bytes missing;             // Inferred, and not on the device.
    Bytes remaining;           // Movable, not inferred, and on the device.
    Bytes outside;             // The same, and in host memory: touching it would show.
    bool tells = true;         // Or `remaining` was left there, since more would say nothing new.
    bool arrays_show = true;   // There is some of each allocation with an array that is inferred.
    bool array_shows = false;  // Of any such.

    bool would_show() const { return remaining.value == 0 && outside.value != 0; }
  };

  Audit(std::string folder, const vramspanCountersTable* table, Memory* memory, Mover* mover);

  // To the device before the launch. For a trust file that is all that the launch may touch: what
  // it takes from elsewhere it takes from where memory would move beside it.
  bool IsPlaced(const InferredRange& r) const { return r.likely || for_trust_; }
  bool TakeTurn() VS_EXCLUDES(mu_);
  void ReleaseTurn() VS_EXCLUDES(mu_);
  bool BeginWork(const Submission& s, absl::Span<const InferredRange> inferred);
  void BeginCount(size_t row, uint64_t arguments, uint64_t given, const Placed& placed);
  // `tells`: the launch may show something new, so what it does not name goes to host memory.
  Placed Place(CUstream stream, absl::Span<const InferredRange> inferred, bool tells);
  // Appends the ranges that lie wrong, merged where they adjoin.
  Placed Look(absl::Span<const InferredRange> inferred,
              std::vector<std::pair<DevicePtr, Bytes>>* out,
              std::vector<std::pair<DevicePtr, Bytes>>* in);
  bool Moving() VS_EXCLUDES(memory_.mu);
  // True when all that the stream was given is done and, with `moves`, nothing is moving.
  bool WaitFor(CUstream stream, bool moves);
  bool Captures(CUstream stream);
  size_t RowOf(const Submission& s, bool arrays);
  // Whether a launch of the row may show something new.
  bool MayTell(size_t row, uint64_t arguments) const;
  // Of this, with room for no more than kMostRows.
  size_t Row(AuditRow::Kind kind, const std::string& name, uint64_t module);
  uint64_t ArgumentsOf(const Submission& s);
  void Stop(const std::string& why);
  Status Write();
  void Finish(bool complete);
  static void Counted(void* self, const vramspanCounted* range);
  static void FinishAll();

  const std::string path_;
  const bool for_trust_;
  const vramspanCountersTable* const table_;
  vramspanCounters* counters_ = nullptr;
  Memory& memory_;
  Mover& mover_;

  Mutex mu_;
  CondVar turn_free_;
  bool turn_taken_ VS_GUARDED_BY(mu_) = false;

  std::atomic<uint64_t> launches_{0};

  // Of whoever has the turn.
  uint64_t holder_ = 0;  // ThreadNumber.
  bool counting_ = false;
  bool delivered_ = false;
  size_t refused_ = 0;  // Launches in a row for which the counters would not start.
  NoisyRuns noisy_;
  uint64_t tag_ = 0;     // Of what is being counted, or was last,
  uint64_t remaps_ = 0;  // and what had been remapped by then.
  struct Pending {
    size_t row = 0;
    uint64_t arguments = 0;   // A hash,
    uint64_t given = 0;       // and of all but pointers.
    bool tells = true;        // Else what it did not name was left where it was.
    bool over = false;        // More was inferred than fits on the device.
    bool would_show = false;  // What it touches beside what was inferred.
    bool disturbed = false;   // Something moved meanwhile: it is not counted.
    Instant at;               // When counting began.
  };
  absl::flat_hash_map<uint64_t, Pending> pending_;  // Counted, not delivered: a batch at most.
  // By kind, name and module.
  absl::flat_hash_map<std::tuple<AuditRow::Kind, std::string, uint64_t>, size_t> index_;
  absl::flat_hash_map<const void*, size_t> graphs_;  // Their numbers.
  AuditResults results_;
  std::vector<ArgumentSets> sets_;  // By row.
  std::vector<uint8_t> wanted_;     // Scratch, by chunk.
  std::vector<char> block_;         // Scratch, of parameters.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_AUDIT_H_
