// What the runtime's mover (runtime/mover) would have done with a recorded run, in virtual time:
// the same decisions by the same code (runtime/scheduler, runtime/placement), over a simulated
// program, device and bus. The parts have the names they have there.
//
// What is modelled: streams, each first come first served; the program that runs ahead as it did
// (timing.h), up to what a stream takes and the mover holds; copies both ways (simulated_link.h);
// one thread that plans and makes the calls on mappings, one after another, with what a call waits
// for beside copies out; device memory that has to be made where only other sizes are left; host
// chunks without a mapping; twins; trials, prices, forecast, heat and what comes back by itself;
// the deadline. What is not: host memory has no end, recording costs nothing to begin, the
// program's own allocations take no time, copies and kernels that both use the bus do not slow each
// other, and memory that a kernel may write counts as written unless the record shows that it was
// not (unwritten.h).
//
// Deterministic. Threads: one object, one thread; what it is made from may be shared.
#ifndef VRAMSPAN_TOOLS_REPLAY_SIMULATED_MOVER_H_
#define VRAMSPAN_TOOLS_REPLAY_SIMULATED_MOVER_H_

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <queue>
#include <vector>

#include "runtime/placement/pins.h"
#include "runtime/scheduler/host_copies.h"
#include "runtime/scheduler/idle_fetches.h"
#include "runtime/scheduler/patience.h"
#include "runtime/scheduler/plan_maker.h"
#include "runtime/scheduler/readiness.h"
#include "runtime/scheduler/residency.h"
#include "runtime/scheduler/sequence.h"
#include "runtime/scheduler/trials.h"
#include "runtime/scheduler/unmapped_chunks.h"
#include "runtime/scheduler/work_counts.h"
#include "runtime/scheduler/work_queue.h"
#include "runtime/space/chunk_table.h"
#include "tools/replay/active_work.h"
#include "tools/replay/min_schedule.h"
#include "tools/replay/replay_result.h"
#include "tools/replay/run_recorder.h"
#include "tools/replay/simulated_link.h"
#include "tools/replay/simulated_slots.h"
#include "tools/replay/timing.h"

namespace vramspan::replay {

class SimulatedMover {
 public:
  // What the bound's schedule may keep of a budget: the rest is for what is fetched ahead.
  static Bytes KeptOf(Bytes budget);

  // All outlive it. `min`: where the policy is kMinPolicy, for KeptOf of the budget.
  // REQUIRES: the setting's policy is one, and works come in the order of the steps.
  SimulatedMover(const ChunkedRun& chunks, const Timing& timing, const ReplayPrices& prices,
                 const ReplaySetting& setting, const MinSchedule* min);
  ~SimulatedMover();

  // Once. Fills all of the result but `resident` and the bound.
  ReplayResult Run();

 private:
  static constexpr uint64_t kDeadline = 20'000'000;  // The runtime's, where nobody sets it.

  // What a replay knows of a chunk beside what the runtime does.
  struct ChunkFacts {
    uint32_t next_use = 0;        // Of min: the work that needs it next.
    uint32_t came = 0;            // let_go_ when it last came.
    uint32_t unwritten_from = 0;  // Or that those behind this one do.
    bool written = false;         // By work, since it came, as far as the record says.
    bool keeps = false;           // The bound's schedule has it stay.
    bool unwritten = false;       // The record shows that kernels leave it as it is,
    bool has_host = false;        // Host memory was made for it.
    bool pinned = false;          // The setting's pins keep it.
    bool alias = false;           // Its memory on the device has one.
  };
  struct Stream {
    std::deque<ActiveWork*> works;  // Not ended, in order.
    uint64_t last_end = 0;
    HeldTime last_end_at;
    uint64_t last_finish = 0;  // As the mover saw it.
    bool waits = false;        // Its first work waits for work of another stream.
  };
  struct Move {
    ChunkIndex chunk;
    bool in = false;
    bool clean = false;
    bool ahead = false;  // Its memory on the device was mapped before the copy.
    bool print = false;  // Its fingerprint is taken on its way in.
    bool copied = false;
    uint64_t tag = 0;
  };
  // A copy out, once there is memory to copy to.
  struct Waiting {
    uint64_t time;
    Bytes size;
    uint64_t tag;
  };
  struct End {
    uint64_t time;
    uint64_t order;
    ActiveWork* work;
    bool operator>(const End& o) const { return time != o.time ? time > o.time : order > o.order; }
  };
  // What the mover's thread is at: calls on a mapping.
  enum class Call : uint8_t { kNone, kFetch, kRemap, kMapOnHost };
  enum class HostWait : uint8_t { kNothing, kWork, kQueue, kStream, kFreed };

  // --- the loop and the program (simulated_mover.cc) ---
  uint64_t NextEvent() const;
  void Pass(uint64_t to);
  void Host();
  // False: it waits.
  bool HostSubmits(uint32_t work);
  // False: it waits for freed memory whose work has yet to end, which is better than host memory.
  bool HostAllocates(uint32_t allocation);
  void Allocate(uint32_t allocation);
  // The time that making host memory for the chunk takes, in nanoseconds, where it has none.
  uint64_t HostMemoryFor(ChunkIndex index);
  void Free(uint32_t allocation);
  void Reclaim(ChunkIndex index);
  void KeepByPins();
  void EndWorks();
  void TryStart(Stream* stream);
  ActiveWork* NewWork(uint32_t work);

  // --- taking work in and letting it go (simulated_submit.cc) ---
  void Submit(ActiveWork* a);
  void WantByMin(ActiveWork* a);
  // Whether a chunk that gets no place for good had better be served where it lies.
  bool MinServes(uint32_t work, ChunkIndex chunk) const;
  Conditions ConditionsNow() const;
  bool ReleaseReady();
  void CheckDeadline();
  // How things stand for the head, for a decision on when its waiting ends. REQUIRES: there is one.
  Patience::Situation Situation() const;
  void MarkReleased(ActiveWork* a);
  void DropHostCopy(ChunkIndex index) { At(index).Transition(ChunkState::kDevice); }
  // What work touches of a chunk, each byte once, and how much its ranges name in sum.
  struct Touched {
    Bytes once, named;
    bool write = false;
  };
  Touched TouchedIn(uint32_t set, ChunkIndex chunk) const;
  // How long one pass over that takes where the chunk is on the host.
  double PassNanoseconds(uint32_t work, ChunkIndex chunk, const Touched& touched) const;
  void Finish(ActiveWork* a);
  absl::Span<const ChunkUse> Possible(uint32_t set);

  // Held work wants others than it did, or is to run in place.
  void RemakeQueue() {
    if (plan_maker_) plan_maker_->Remake();
  }

  // --- moves (simulated_moves.cc) ---
  bool Round();
  bool PollFinished();
  bool StartMoves();
  void PlanByMin(std::vector<ChunkIndex>* evict, std::vector<ChunkIndex>* fetch);
  // The idle chunk that is needed last, and after `work`; null for none.
  ChunkIndex NeededLast(uint32_t work, absl::Span<const ChunkIndex> but) const;
  bool StartEvict(ChunkIndex index);
  // Those of fetches_, up to one that takes a call.
  bool StartFetches();
  bool StartFetch(ChunkIndex index);
  // The mover is at a call for so long, and longer by what it owes, or until the piece that is on
  // its way out has gone: to give access waits for that.
  void Begin(Call call, uint64_t nanoseconds, bool gives_access = false);
  bool BeginRemap();
  void EndRemap();
  std::deque<Move>::iterator FindMove(uint64_t tag);
  void CompleteMove(const Move& move);
  // By how much calls on mappings take longer for what runs beside them.
  double SlowerCalls() const;
  uint64_t RemapTime(const Move& move, bool hide) const;
  bool DeviceIdle() const { return in_flight_ == 0; }
  Bytes Available() const {
    return used_ < setting_.device_memory ? setting_.device_memory - used_ : Bytes(0);
  }
  Bytes Pipeline() const;

  void MarkChanged(ChunkIndex index) { residency_->NoteChange(index); }

  // Virtual time, as decisions have it.
  static Instant InstantOf(uint64_t ns) { return Instant(Duration(static_cast<int64_t>(ns))); }
  static uint64_t NanosecondsOf(Instant t) {
    return static_cast<uint64_t>(t.time_since_epoch().count());
  }
  Chunk& At(ChunkIndex c) { return (*chunk_)[c]; }
  const Chunk& At(ChunkIndex c) const { return (*chunk_)[c]; }
  ChunkFacts& FactsOf(ChunkIndex c) { return facts_[c.value]; }
  const ChunkFacts& FactsOf(ChunkIndex c) const { return facts_[c.value]; }
  static ActiveWork* Own(Work* work) { return static_cast<ActiveWork*>(work); }
  static const ActiveWork* Own(const Work* work) { return static_cast<const ActiveWork*>(work); }
  static bool Moving(const Chunk& c) { return Residency::Moving(c); }
  bool AnyMoving() const { return !moves_.empty() || call_ != Call::kNone; }

  const ChunkedRun& chunks_;
  const RecordedRun& run_;
  const Timing& timing_;
  const ReplayPrices prices_;
  const ReplaySetting setting_;
  const MinSchedule* const min_;
  const bool traced_;
  const bool prints_;  // Fingerprints are taken in the streams, behind launches.

  uint64_t now_ = 0;

  // The program and the device.
  size_t step_ = 0;         // The next.
  uint64_t host_time_ = 0;  // When the last one was done.
  uint64_t host_next_ = 0;  // When the next is, if it waits for nothing.
  HostWait host_wait_ = HostWait::kNothing;
  uint32_t dying_ = 0;       // Chunks that were freed, and that work may still use.
  bool host_timed_ = false;  // host_next_ holds for the next step.
  uint64_t host_made_ = 0;   // When the host memory that was asked for is there.
  bool begun_ = false;       // Host memory was made before.
  std::deque<Waiting> waiting_;
  std::array<uint32_t, kChunkSizeCount> spare_host_{};  // Made, and its chunk was freed.
  uint64_t host_pays_ = 0;                              // For what its calls took beside.
  std::vector<Stream> streams_;
  uint32_t waiting_streams_ = 0;
  std::vector<uint64_t> ends_;  // By work; kNever while it has not ended.
  std::priority_queue<End, std::vector<End>, std::greater<>> running_;
  uint64_t end_order_ = 0;
  std::deque<ActiveWork> works_;
  std::vector<ActiveWork*> spare_;
  uint32_t active_ = 0;
  uint64_t last_end_ = 0;
  uint64_t first_submission_ = 0;

  // The mover.
  bool tracking_ = false;
  std::unique_ptr<ChunkTable> chunk_;
  std::unique_ptr<Residency> residency_;
  std::optional<UnmappedChunks> unmapped_chunks_;
  std::optional<WorkCounts> counts_;
  std::optional<HostCopies> host_copies_;
  std::optional<Readiness> readiness_;
  std::vector<ChunkFacts> facts_;  // By chunk.
  Bytes used_;                     // Of the device.
  WorkQueue queue_;
  std::deque<ActiveWork*> ended_;  // Released, those whose end has not been looked at.
  std::unique_ptr<EvictionPolicy> policy_;
  std::optional<PlanMaker> plan_maker_;  // None for min.
  Plan plan_;
  Pins pins_;
  std::vector<uint32_t> pinned_;  // By pin: the allocation that lives, or Pins::kNone.
  std::optional<Trials> trials_;  // None for min, which has no policy.
  Sequence sequence_;
  std::deque<Move> moves_;  // By tag.
  uint32_t copied_ = 0;     // Of these.
  uint64_t next_tag_ = 0;
  Bytes moving_in_, moving_out_;
  uint32_t in_flight_ = 0;  // Released works whose end is not known.
  bool plan_again_ = false;
  SimulatedLink link_;
  std::deque<ChunkIndex> fetches_;  // Planned, and not begun.
  uint64_t fetches_until_ = 0;
  SimulatedSlots slots_;
  Call call_ = Call::kNone;
  uint64_t call_end_ = 0;
  uint64_t owed_ = 0;  // By the thread, for what it did beside calls.
  Move call_move_;
  bool call_hides_ = false;
  ChunkIndex call_shows_;
  uint32_t unmapped_ = 0;
  std::deque<ChunkIndex> mapping_;  // To be mapped on the host, in order.
  uint64_t last_progress_ = 0;
  uint64_t last_poll_ = 0;
  IdleFetches idle_fetches_;
  HeldTime held_time_;
  Patience patience_{Duration(kDeadline)};

  std::vector<uint64_t> set_hash_;               // By set; 0: not known yet.
  std::vector<std::vector<ChunkUse>> possible_;  // By set.
  std::vector<bool> possible_known_;
  // Of min.
  uint32_t min_cursor_ = 0;           // Work before it needs nothing that could come.
  std::deque<ChunkIndex> droppable_;  // Chunks that do not keep their place.
  // What the work at the cursor needs, and which work that was found for.
  std::vector<ChunkIndex> min_wanted_;
  uint32_t min_wanted_for_ = kNoWork;
  uint32_t submitted_ = 0;  // Works.
  uint32_t let_go_ = 0;     // One more than the last work that was.

  std::unique_ptr<RunRecorder> recorder_;
  ReplayResult result_;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_SIMULATED_MOVER_H_
