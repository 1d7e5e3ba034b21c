// Records a run: what the program allocates, frees and submits, when its work ran, and what was
// moved, into a trace file (runtime/trace, docs/trace-format.md).
//
// Costs one comparison a call where no recording was asked for. Where it was, the program computes
// the same, though what moves may differ, for work that is timed takes longer. Threads: any.
#ifndef VRAMSPAN_RUNTIME_API_RECORDER_H_
#define VRAMSPAN_RUNTIME_API_RECORDER_H_

#include <absl/container/flat_hash_map.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/api/content_watch.h"
#include "runtime/api/record_file.h"
#include "runtime/api/unowned_granules.h"
#include "runtime/api/work_timer.h"
#include "runtime/memory/run_listener.h"
#include "runtime/mover/mover.h"
#include "runtime/observe/submission.h"
#include "runtime/observe/working_sets.h"
#include "runtime/trace/writer.h"

namespace vramspan {

class Recorder final : public RunListener, EndsWithProcess {
 public:
  // Of which work the time on the device is measured. kSome: while no memory moves, of a kernel's
  // first launches and then of one in eight; that is most of what a recording costs.
  enum class Times { kNone, kSome, kAll };
  static StatusOr<Times> ParseTimes(std::string_view text);

  // Where the file is there already, the process's number is added to its name: a program may be
  // several processes. `context` outlives the recorder.
  static StatusOr<std::unique_ptr<Recorder>> Open(const std::string& path, Times times,
                                                  std::shared_ptr<const Driver> driver,
                                                  CUcontext context, trace::Header header);
  ~Recorder() override;
  // Before any work: tells also what kernels leave as it is, while `mover` is not tracking. Where
  // that cannot be, it is not told.
  void WatchContents(CUcontext context, Memory* memory, const Mover* mover);
  // All work is done, and what is watched goes. Nothing is measured any more.
  void StopWatching();

  void Allocated(DevicePtr base, Bytes size);
  void Freeing(DevicePtr base);  // Before it is.
  // Behind all that was submitted. The calling thread's work comes before it or behind, as it has.
  void Discarded(DevicePtr ptr, Bytes size, bool unowned);
  // What was discarded as nobody's may be somebody's before the work that is submitted next. Size
  // 0: all memory.
  void Owned(DevicePtr ptr, Bytes size);
  void BudgetIs(Bytes device);

  // The calling thread is about to make a call that submits work, from here on it is recorded;
  // where it is, Submitting follows.
  void Entering();
  // What that call is; Submitted must follow. The tag for Mover::Begin; 0 where this is not
  // recorded, since the stream captures.
  uint64_t Submitting(const Submission& s, absl::Span<const InferredRange> ranges, bool complete);
  // The same for a scope that the program declares.
  uint64_t Declaring(CUstream stream, absl::Span<const WorkRange> ranges, Access access);
  // The same for work of another context that names memory of this one. Nothing follows, but
  // Waiting and WaitedForForeignWork where the thread waits for its end.
  void ForeignWork(CUstream stream);
  // The call's place in the stream: after the mover's hold, if there is one.
  void Starting();
  void Submitted();

  // The calling thread is about to wait for its device; Waited must follow.
  void Waiting();
  void Waited(WaitsFor what, CUstream stream);
  void WaitedForForeignWork(CUstream stream);

  // RunListener.
  void Moved(DevicePtr base, Bytes size, bool in, bool clean,
             std::chrono::steady_clock::time_point began) override;
  void Released(uint64_t tag, Bytes remote) override;
  void Mapped(DevicePtr base, Bytes size) override VS_NO_THREAD_SAFETY_ANALYSIS;
  void Unmapped(DevicePtr base) override { Freeing(base); }
  bool CallOffReads(absl::Span<const ChunkIndex> chunks) override VS_NO_THREAD_SAFETY_ANALYSIS {
    return watch_ != nullptr && watch_->CallOff(chunks);
  }

 private:
  struct Code {
    explicit Code(uint32_t n) : number(n) {}
    const uint32_t number;
    std::atomic<uint32_t> measured{1};  // Launches; not counted beyond kWellMeasured.
  };
  // What a thread need not ask for again under the lock, and the call that it makes.
  struct Mine;
  struct Numbered {
    uint32_t number;
    bool measure;
  };

  Recorder(std::shared_ptr<const Driver> driver, Times times);
  void Finish() override;
  bool Captures(CUstream stream);
  uint32_t StreamNumber(CUstream stream);
  // Of a stream of this context, or of another's.
  using StreamKey = std::pair<CUstream, uint64_t>;
  static StreamKey ForeignKey(CUstream stream) { return {stream, ~uint64_t{0}}; }
  uint32_t NumberOf(const StreamKey& key) VS_EXCLUDES(mu_);
  // Null: more codes than are told apart. `made`: this is the first launch of it.
  Code* FindCode(const void* code, uint64_t shape, bool* made) VS_EXCLUDES(mu_);
  Numbered CodeOf(const Submission& s);
  // The number of the first that was made of its function in about as many blocks.
  uint32_t FirstAlike(const Submission& s, uint32_t number) VS_EXCLUDES(mu_);
  bool Measures(Code* code, Submission::Kind kind);
  std::string NameOf(const void* code, Submission::Kind kind, uint32_t number);
  // Of a call that was entered at `event->time`.
  uint64_t Add(trace::WorkEvent* event, CUstream stream, bool measure);
  // The thread has recorded since then.
  void NoteCost(uint64_t since);
  // `stream`: its number, where it is one that is waited for.
  void AddWait(uint64_t since, WaitsFor what, uint32_t stream);
  // Takes the fingerprints that are due behind the thread's work.
  void TakeFingerprints();

  const std::shared_ptr<const Driver> driver_;
  const uint64_t id_;  // Of this recorder, among all of the process.
  std::unique_ptr<trace::Writer> writer_;
  std::unique_ptr<WorkTimer> timer_;
  std::unique_ptr<ContentWatch> watch_;  // None: contents are not watched.
  const Mover* mover_ = nullptr;
  UnownedGranules unowned_;
  std::atomic<uint64_t> next_{1};
  const bool measures_;
  std::atomic<bool> measure_all_;
  Mutex mu_;
  bool finished_ VS_GUARDED_BY(mu_) = false;
  // A per-thread stream is another one in each thread, which is told by its number.
  absl::flat_hash_map<StreamKey, uint32_t> streams_ VS_GUARDED_BY(mu_);
  absl::flat_hash_map<std::pair<const void*, uint64_t>, std::unique_ptr<Code>> codes_
      VS_GUARDED_BY(mu_);
  absl::flat_hash_map<std::pair<const void*, uint64_t>, uint32_t> alike_ VS_GUARDED_BY(mu_);
  absl::flat_hash_map<uint64_t, Bytes> remote_ VS_GUARDED_BY(mu_);  // By tag, where there is some.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_RECORDER_H_
