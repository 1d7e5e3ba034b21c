// A runtime's eyes: what the program submits becomes work that the mover knows, as if the program
// had declared it.
//
// What may be remapped beside a launch follows from what the user allows and from how far its code
// is trusted (scheduler/overlap.h).
//
// Threads: any.
#ifndef VRAMSPAN_RUNTIME_API_TRACER_H_
#define VRAMSPAN_RUNTIME_API_TRACER_H_

#include <absl/types/span.h>
#include <cuda.h>

#include <array>
#include <atomic>
#include <string_view>
#include <vector>

#include "runtime/api/audit.h"
#include "runtime/api/code_reading.h"
#include "runtime/api/encoded_cache.h"
#include "runtime/api/graph_sets.h"
#include "runtime/api/kernel_teacher.h"
#include "runtime/api/launch_memo.h"
#include "runtime/api/learning.h"
#include "runtime/api/recorder.h"
#include "runtime/mover/mover.h"
#include "runtime/observe/blocks.h"
#include "runtime/observe/decoder.h"
#include "runtime/observe/hidden_pointers.h"
#include "runtime/observe/working_sets.h"
#include "runtime/scheduler/overlap.h"

namespace vramspan {

// InvalidArgument names the text and lists what there is.
StatusOr<Overlap> ParseOverlap(std::string_view text);

struct TracerStatistics {
  uint64_t launches = 0;          // Seen while work was recorded: kernels and graphs.
  uint64_t copies = 0;            // The same: copies and fills.
  uint64_t launches_unknown = 0;  // Of the launches: named no memory of ours, and may reach it.
  uint64_t launches_encoded = 0;  // May name some in other forms than pointers.
  std::array<uint64_t, 3> launches_by_trust{};  // By the value of Trust.
  uint64_t launches_known = 0;  // Were the same as an earlier one, and told by that.
  uint64_t touches = 0;         // Pointers and ranges into our memory that they named.
  uint64_t graphs_cut = 0;      // Launches of graphs that were made in segments,
  uint64_t segments = 0;        // and of how many; `launches` counts these.
  Bytes scanned;                // Looked through for them; of copies also before.
};

class Tracer {
 public:
  // All outlive the tracer.
  Tracer(Decoder* decoder, Memory* memory, Mover* mover, Overlap overlap);

  // From here on every submission is audited. Before the first Enter; `audit` outlives the tracer's
  // last call.
  void SetAudit(Audit* audit) { audit_ = audit; }

  // From here on every submission is told to `recorder`. Before the first Enter, and it outlives
  // the tracer's last call.
  void SetRecorder(Recorder* recorder) { recorder_ = recorder; }

  // Kernels that a profile knows are told to the mover as they come. As above.
  void SetTeacher(KernelTeacher* teacher) { teacher_ = teacher; }

  // What is learned of kernels is kept, and was. As above.
  void SetLearning(Learning* learning) { learning_ = learning; }

  // Code that nothing proves is read. As above.
  void SetReading(CodeReading* reading) { reading_ = reading; }

  // The calling thread is about to make a call that submits work. True: Exit must follow.
  bool Enter(uint32_t call, const void* params);
  void Exit(CUstream stream);
  // The stream is about to be destroyed.
  void StreamGoes(CUstream stream);
  // `unmapped`: its contents may come there again.
  void Freed(DevicePtr base, Bytes size, bool unmapped = false);
  // What is submitted will not be seen any more: returns when that is safe, see Mover::StopMoving.
  bool StopTracking() { return mover_.StopMoving(); }
  // A call is about to look memory up that it does not submit work with.
  bool BeginAddressQuery() { return mover_.BeginAddressQuery(); }
  void EndAddressQuery() { mover_.EndAddressQuery(); }
  // A call in another context is about to submit work. kPasses, while memory suffices: EndUntracked
  // must follow. kVisits: it names memory of this runtime, and EndForeignWork must follow, which
  // waits for it.
  enum class Foreign : uint8_t { kNone, kUntracked, kTouches };
  Foreign BeginForeignWork(uint32_t call, const void* params);
  void EndUntracked() { mover_.EndUntracked(); }
  void EndForeignWork(CUstream stream);

  // Graphs that do not fit are launched in segments, by whoever stands between the program and the
  // driver, from here on. Before the first Enter.
  void SetGraphLaunch(GraphLaunch how) { graph_launch_ = how; }
  // kWhole also of a graph that this can never concern, as it is now.
  GraphLaunch HowToLaunch(CUgraphExec exec);
  bool tracks() const { return mover_.tracking(); }
  // Where the graph is cut now (CutGraph); none where memory suffices, or nobody may.
  std::vector<size_t> CutsOf(CUgraphExec exec, absl::Span<const CUgraphNode> nodes);
  // A graph was launched in so many segments.
  void NoteSegments(size_t segments);

  // Around the calling thread's wait for its device. Where it waits for a stream, it waits here
  // until what that holds has been let go.
  void BeginWait(uint32_t call, const void* params);
  void EndWait(uint32_t call, const void* params);

  // The stream of the call that Enter returned true for.
  static CUstream StreamOf(uint32_t call, const void* params) {
    return Decoder::StreamOf(call, params);
  }
  TracerStatistics statistics() const;
  // What the program's own allocators hand out. It says how far launches go.
  Blocks& blocks() { return blocks_; }
  // Launches beside which nothing moved, since nothing proves their code; 0 where those are few, or
  // nobody has asked for proofs.
  uint64_t launches_held_up() const;
  bool reads_code() const { return reading_ != nullptr; }
  // The device's, from here on.
  void BudgetIs(Bytes budget);

 private:
  // While anybody wants to know what is submitted: memory is short, or this is an audit or
  // recorded.
  bool EnterDecoded(uint32_t call, const void* params);
  // Launches that come again are told by what they named before.
  bool Remembers(const Submission& s) const {
    return s.kind == Submission::Kind::kKernel && audit_ == nullptr && recorder_ == nullptr &&
           mover_.tracking();
  }
  LaunchMemo::Grounds GroundsOf(const Submission& launch) const;
  bool EnterKnown(const Submission& launch, LaunchMemo::Known* known);
  // What is to be known of the launch from here on, but for its ranges; null where nothing can be.
  // `again`: null where what it names may come and go unnoticed; `known`: what was known before.
  static LaunchMemo::Known* Learn(const Submission& launch, const LaunchMemo::Grounds& grounds,
                                  const WorkingSets::Repeatable* again, LaunchMemo::Known* known,
                                  LaunchMemo* memo);
  void Leave(CUstream stream);
  // Adds to a launch what it may name in other forms. Whether there is any.
  bool FindEncoded(EncodedCache* cache, ExtentCache* extents, Submission* launch);
  // A launch came that nothing proves.
  void NoteUnproven(const Submission& launch, Trust trust);
  // So many launches of untried code, while memory is short, are worth a word.
  static constexpr uint64_t kUntriedTold = 1000;
  // Before the launch is told to the mover, which knows it as `kernel`.
  void TellWhatIsKnown(uint64_t kernel, const Submission& launch, uint64_t rough_bytes);
  // Counts a launch, and says what may happen beside it.
  Beside NoteLaunch(const Submission& launch, Trust trust);
  // What the copies carry is remembered with their targets, and where arrays lie by them.
  void NoteCopies(const Submission& s, ExtentCache* extents);

  Decoder& decoder_;
  Memory& memory_;
  Mover& mover_;
  const Overlap overlap_;
  const uint64_t number_;  // No other tracer of the process ever has it.
  Audit* audit_ = nullptr;
  Recorder* recorder_ = nullptr;
  KernelTeacher* teacher_ = nullptr;
  Learning* learning_ = nullptr;
  CodeReading* reading_ = nullptr;
  GraphLaunch graph_launch_ = GraphLaunch::kWhole;
  WorkingSets sets_;
  HiddenPointers hidden_;
  Blocks blocks_;
  std::atomic<uint64_t> launches_{0}, copies_{0}, launches_unknown_{0}, launches_encoded_{0};
  std::atomic<uint64_t> launches_known_{0}, graphs_cut_{0}, segments_{0};
  std::atomic<uint64_t> touches_{0}, scanned_{0};
  std::array<std::atomic<uint64_t>, 3> launches_by_trust_{};
  // Launches of code that is not just being read, while memory is short.
  std::atomic<uint64_t> untried_{0};
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_TRACER_H_
