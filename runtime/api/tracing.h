// The process's one launch source, and which runtime a call belongs to: the one whose context is
// current in it.
//
// A source is started when the first runtime asks for it and stays for as long as the process
// lives, unless CUPTI is given up to another tool: then the hooks take over where they are offered,
// without a gap, and else nothing is seen any more and memory stays where it is. Calls of our own
// (OwnCalls), of threads inside a declared scope, and of contexts without a runtime pass by.
//
// Threads: any. A child of fork sees nothing: its calls go to the driver, which refuses them. A
// runtime is taken out before it is destroyed, when no call of its context is under way (as
// vramspanDestroy demands).
#ifndef VRAMSPAN_RUNTIME_API_TRACING_H_
#define VRAMSPAN_RUNTIME_API_TRACING_H_

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/api/statistics_text.h"
#include "runtime/api/traced_contexts.h"
#include "runtime/api/tracer.h"
#include "runtime/observe/launch_source.h"

namespace vramspan {

enum class LaunchSource : uint8_t {
  kAuto,   // hooks where they are offered, else cupti where that works, else none
  kCupti,  // an error where it does not work
  kHooks,  // an error where nobody offers them
  kOff,
};
// InvalidArgument names the text and lists what there is.
StatusOr<LaunchSource> ParseLaunchSource(std::string_view text);

// Of so many kernels statistics tell.
inline constexpr size_t kKernelsTold = 200;

class Tracing {
 public:
  static Tracing& Get();

  // Whoever stands between the program and the driver offers to be the source. Before Start.
  static void OfferHooks(vramspanLaunchSourceStart_t start);

  // Starts the source for a driver, if none is running. An error says why it cannot.
  // REQUIRES: source != kOff.
  Status Start(const std::shared_ptr<const Driver>& driver, LaunchSource source);
  // Another tool wants CUPTI: where it is the source, it is free when this returns OK. Not from
  // inside a call that is watched. DeadlineExceeded: a call that was seen to begin does not return,
  // or memory that is moving does not come to rest, and CUPTI is still ours; without hooks launches
  // count as unseen all the same from here on.
  Status GiveUpCupti();
  // What comes now is not seen: from here on memory stays where it is. `why`: in a few words.
  // False: some of it still moves, after a while's wait.
  bool StopSeeing(const char* why);
  // Null before Start.
  Decoder* decoder();

  // The kernels that were launched while work was recorded, at most so many, the most launched
  // first.
  static std::vector<KernelTrust> Kernels(size_t most);

  // At most kMost runtimes are traced. ResourceExhausted beyond that.
  static constexpr size_t kMost = TracedContexts::kMost;
  Status Add(CUcontext context, Tracer* tracer, DevicePtr arena, Bytes size);
  // No call that begins from here on uses it. True when none does that began before; false where
  // one does not return for some seconds: the tracer must stay then. It may be asked again.
  bool Remove(Tracer* tracer, DevicePtr arena);
  // How many are.
  static size_t tracers();
  // The contexts but `own` that submitted work beside memory of others (Mover::BeginUntracked).
  static std::vector<CUcontext> Passers(CUcontext own);
  // Of the runtime of a context (Tracer): nothing is cut where it has none.
  static GraphLaunch HowToLaunch(CUcontext context, CUgraphExec exec);
  static bool Tracks(CUcontext context);  // Memory is short, or was.
  static std::vector<size_t> CutsOf(CUcontext context, CUgraphExec exec,
                                    absl::Span<const CUgraphNode> nodes);
  static void NoteSegments(CUcontext context, size_t segments);
  // False when the source was lost to another tool.
  bool sees() const;
  // The source was started by the parent of this process.
  static bool Inherited();

  // The program submits work before there is anyone to see it: some of it may still wait for the
  // program when a runtime is made.
  static void NoteUnseen() { unseen_.store(true, std::memory_order_relaxed); }
  static bool unseen() { return unseen_.load(std::memory_order_relaxed); }

 private:
  Tracing() = default;
  static inline std::atomic<bool> unseen_{false};
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_TRACING_H_
