#include "runtime/api/tracing.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <tuple>
#include <vector>

#include "runtime/api/foreign_calls.h"
#include "runtime/api/hand_over.h"
#include "runtime/api/seen_calls.h"
#include "runtime/api/traced_contexts.h"
#include "runtime/api/tracer_library.h"
#include "runtime/api/trust_files.h"
#include "runtime/base/clean_text.h"
#include "runtime/base/log.h"
#include "runtime/base/own_calls.h"
#include "runtime/observe/launch_source.h"

namespace vramspan {
namespace {

// A traced call that takes longer waits for something, or its thread died in it.
constexpr std::chrono::seconds kRemovePatience{5};

// Of the source.
struct State {
  Mutex mu;
  std::shared_ptr<const Driver> driver VS_GUARDED_BY(mu);
  Status started VS_GUARDED_BY(mu) = absl::UnavailableError("not started");
  std::vector<uint32_t> calls;
  vramspanLaunchSink sink{}, standby{};
  std::atomic<bool> sees{false};
  std::atomic<vramspanLaunchSourceStart_t> hooks{nullptr};
  // Null where CUPTI is not the source, or no more.
  vramspanLaunchSourceStop_t stop_cupti VS_GUARDED_BY(mu) = nullptr;
  bool standing_by VS_GUARDED_BY(mu) = false;  // The hooks are, while CUPTI is the source.
};

State& TheState() {
  static State* state = new State;  // Calls may come until the process is gone.
  return *state;
}

// Null in a child of fork, too.
TracedContexts::Entry* EntryHere(CUcontext context) {
  TracedContexts& contexts = TracedContexts::Get();
  return contexts.Here() ? contexts.EntryOf(context) : nullptr;
}

// Whether all memory has come to rest.
bool StopTracking(State* state, const char* why) VS_REQUIRES(state->mu) {
  state->sees.store(false, std::memory_order_release);
  state->started = absl::UnavailableError(why);
  bool rests = true;
  for (TracedContexts::Entry& e : TracedContexts::Get().entries()) {
    Tracer* const tracer = e.tracer.load(std::memory_order_relaxed);
    if (tracer != nullptr && !tracer->StopTracking()) rests = false;
  }
  Log(LogLevel::kError,
      absl::StrCat("launches are no longer seen (", why, "), so memory stays where it is"));
  return rests;
}

void Lost(const char* why) { Tracing::Get().StopSeeing(why); }

constexpr const char* kTaken = "CUPTI was given up to another tool";
}  // namespace

StatusOr<LaunchSource> ParseLaunchSource(std::string_view text) {
  if (text == "auto") return LaunchSource::kAuto;
  if (text == "cupti") return LaunchSource::kCupti;
  if (text == "hooks") return LaunchSource::kHooks;
  if (text == "off") return LaunchSource::kOff;
  return absl::InvalidArgumentError(
      absl::StrCat("'", Repeated(text), "' is not a launch source; use auto, cupti, hooks or off"));
}

Tracing& Tracing::Get() {
  static Tracing tracing;
  return tracing;
}

std::vector<KernelTrust> Tracing::Kernels(size_t most) {
  std::vector<KernelTrust> kernels;
  Decoder* const decoder = seen_calls_decoder.load(std::memory_order_acquire);
  if (decoder == nullptr) return kernels;
  decoder->codes().ForEach([&](const KernelCode& code) {
    // Read first: launches go on meanwhile.
    const uint64_t unproven = code.unproven.load(std::memory_order_acquire);
    const uint64_t launches = code.launches.load(std::memory_order_relaxed);
    if (launches == 0) return;
    kernels.push_back({.name = code.name,
                       .trust = code.trust(),
                       .why = code.why(),
                       .launches = launches,
                       .proven = launches - std::min(launches, unproven),
                       .module = code.module});
  });
  std::sort(kernels.begin(), kernels.end(), [](const KernelTrust& a, const KernelTrust& b) {
    return std::tie(b.launches, a.name) < std::tie(a.launches, b.name);
  });
  kernels.resize(std::min(kernels.size(), most));
  return kernels;
}

Decoder* Tracing::decoder() { return seen_calls_decoder.load(std::memory_order_acquire); }

size_t Tracing::tracers() { return TracedContexts::Get().count(); }

std::vector<CUcontext> Tracing::Passers(CUcontext own) { return ContextsThatPassed(own); }

GraphLaunch Tracing::HowToLaunch(CUcontext context, CUgraphExec exec) {
  TracedContexts::Entry* const entry = EntryHere(context);
  if (entry == nullptr) return GraphLaunch::kWhole;
  const OwnCalls own;
  const UseOfTracer use(*entry);
  return use.tracer() != nullptr ? use.tracer()->HowToLaunch(exec) : GraphLaunch::kWhole;
}

bool Tracing::Tracks(CUcontext context) {
  TracedContexts::Entry* const entry = EntryHere(context);
  if (entry == nullptr) return false;
  const UseOfTracer use(*entry);
  return use.tracer() != nullptr && use.tracer()->tracks();
}

std::vector<size_t> Tracing::CutsOf(CUcontext context, CUgraphExec exec,
                                    absl::Span<const CUgraphNode> nodes) {
  TracedContexts::Entry* const entry = EntryHere(context);
  if (entry == nullptr) return {};
  const OwnCalls own;
  const UseOfTracer use(*entry);
  return use.tracer() != nullptr ? use.tracer()->CutsOf(exec, nodes) : std::vector<size_t>();
}

void Tracing::NoteSegments(CUcontext context, size_t segments) {
  TracedContexts::Entry* const entry = TracedContexts::Get().EntryOf(context);
  if (entry == nullptr) return;
  const UseOfTracer use(*entry);
  if (use.tracer() != nullptr) use.tracer()->NoteSegments(segments);
}

bool Tracing::Inherited() { return TracedContexts::Get().Inherited(); }

bool Tracing::sees() const { return TheState().sees.load(std::memory_order_acquire); }

void Tracing::OfferHooks(vramspanLaunchSourceStart_t start) {
  TheState().hooks.store(start, std::memory_order_release);
}

Status Tracing::Start(const std::shared_ptr<const Driver>& driver, LaunchSource source) {
  if (Inherited())
    return absl::UnavailableError("the parent process traces launches, so a child of fork cannot");
  State& state = TheState();
  MutexLock lock(state.mu);
  if (state.driver != nullptr && state.driver->path() != driver->path()) {
    return absl::FailedPreconditionError(absl::StrCat("launches of ", state.driver->path(),
                                                      " are traced in this process already, so ",
                                                      driver->path(), " cannot be"));
  }
  if (state.started.ok()) return state.started;
  if (state.driver == nullptr) {
    TracedContexts::Get().StartHere();
    state.driver = driver;
    auto* const decoder = new Decoder(driver);
    AddTrustFiles(&decoder->codes().trust());
    seen_calls_decoder.store(decoder, std::memory_order_release);
    state.calls = CallsToSee();
    state.sink = {.version = VRAMSPAN_LAUNCH_SOURCE_VERSION,
                  .count = static_cast<uint32_t>(state.calls.size()),
                  .calls = state.calls.data(),
                  .lost = &Lost};
  }
  const vramspanLaunchSourceStart_t hooks = state.hooks.load(std::memory_order_acquire);
  if (source == LaunchSource::kHooks && hooks == nullptr) {
    return state.started = absl::UnavailableError(
               "the program's calls pass through no hooks; start it with `vramspan run`");
  }
  // They leave CUPTI to the program's own tools, and cost less than its callbacks.
  const bool take_hooks = hooks != nullptr && source != LaunchSource::kCupti;
  const StatusOr<vramspanLaunchSourceStart_t> start =
      take_hooks ? StatusOr<vramspanLaunchSourceStart_t>(hooks)
                 : tracer_library::LaunchSourceStart();
  if (!start.ok()) return state.started = start.status();
  const std::string cupti = tracer_library::CuptiBeside(*driver);
  char error[512] = "";
  state.sink.enter = &EnterSeenCall;
  state.sink.exit = &ExitSeenCall;
  if (!take_hooks) state.sink = SinkOfCupti(state.sink);
  if ((*start)(&state.sink, cupti.empty() ? nullptr : cupti.c_str(), error, sizeof(error)) != 0) {
    return state.started = absl::UnavailableError(error);
  }
  if (!take_hooks) {
    const StatusOr<vramspanLaunchSourceStop_t> stop = tracer_library::LaunchSourceStop();
    if (stop.ok()) state.stop_cupti = *stop;
    state.standby = SinkOfStandby(state.sink);
    state.standing_by =
        hooks != nullptr && (*hooks)(&state.standby, nullptr, error, sizeof(error)) == 0;
  }
  state.sees.store(true, std::memory_order_release);
  return state.started = absl::OkStatus();
}

Status Tracing::GiveUpCupti() {
  State& state = TheState();
  MutexLock lock(state.mu);
  if (state.stop_cupti == nullptr) return absl::OkStatus();
  if (Mover::InScope()) {
    return absl::FailedPreconditionError(
        "CUPTI cannot be given up inside a scope; end the scope first");
  }
  if (state.standing_by && !LetHooksTakeOver()) {
    return absl::DeadlineExceededError(
        "CUPTI is kept, because a traced call has not returned; try again when it has");
  }
  // What moves now could meet a launch that nobody sees.
  if (!state.standing_by && sees() && !StopTracking(&state, kTaken)) {
    return absl::DeadlineExceededError(
        "CUPTI is kept, because memory still moves; try again later");
  }
  char error[512] = "";
  if ((*state.stop_cupti)(error, sizeof(error)) != 0) {
    GiveBackToCupti();
    return absl::DeadlineExceededError(absl::StrCat("CUPTI is kept: ", error));
  }
  state.stop_cupti = nullptr;
  if (state.standing_by) {
    Log(LogLevel::kInfo, absl::StrCat(kTaken, ": launches are seen by hooks from here on"));
  }
  return absl::OkStatus();
}

bool Tracing::StopSeeing(const char* why) {
  State& state = TheState();
  MutexLock lock(state.mu);
  return StopTracking(&state, why);
}

Status Tracing::Add(CUcontext context, Tracer* tracer, DevicePtr arena, Bytes size) {
  MutexLock lock(TheState().mu);
  decoder()->AddArena(arena, size);
  if (TracedContexts::Get().Add(context, tracer)) return absl::OkStatus();
  decoder()->RemoveArena(arena);
  return absl::ResourceExhaustedError(absl::StrCat("launches are already traced for ", kMost,
                                                   " runtimes, the most that are possible"));
}

bool Tracing::Remove(Tracer* tracer, DevicePtr arena) {
  TracedContexts::Entry* entry = nullptr;
  {
    MutexLock lock(TheState().mu);
    bool was = false;
    entry = TracedContexts::Get().Close(tracer, &was);
    if (was) decoder()->RemoveArena(arena);
  }
  if (entry == nullptr) return true;
  // Not under the lock: who is inside may need it.
  if (!entry->inside.AwaitLeft(kRemovePatience)) return false;
  entry->kept.store(nullptr, std::memory_order_release);
  return true;
}

}  // namespace vramspan
