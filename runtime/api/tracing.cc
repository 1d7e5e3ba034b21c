#include "runtime/api/tracing.h"

#include <absl/strings/str_cat.h>
#include <cupti_driver_cbid.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/api/tracer_library.h"
#include "runtime/api/trust_files.h"
#include "runtime/base/clean_text.h"
#include "runtime/base/log.h"
#include "runtime/base/own_calls.h"
#include "runtime/base/own_process.h"
#include "runtime/base/presence.h"
#include "runtime/base/thread_local.h"
#include "runtime/base/uncancellable.h"
#include "runtime/observe/launch_source.h"

namespace vramspan {
namespace {

// Of the source, from Start on.
constinit std::atomic<OwnProcess> started_in{OwnProcess()};

bool Here() { return started_in.load(std::memory_order_relaxed).Here(); }

// A traced call that takes longer waits for something, or its thread died in it.
constexpr std::chrono::seconds kRemovePatience{5};

// A tracer ends when none of those is inside who may have read the pointer (Tracing::Remove).
struct Entry {
  std::atomic<CUcontext> context{nullptr};
  std::atomic<Tracer*> tracer{nullptr};
  std::atomic<Tracer*> kept{nullptr};  // The same, until nobody uses it any more.
  Presence inside;
};

// The calling thread uses the tracer of an entry, if it has one.
class Using {
 public:
  explicit Using(Entry& entry) : entry_(&entry), side_(entry.inside.Enter()) {
    tracer_ = entry.tracer.load(std::memory_order_acquire);
  }
  ~Using() {
    if (entry_ != nullptr) entry_->inside.Leave(side_);
  }
  Using(const Using&) = delete;
  Using& operator=(const Using&) = delete;

  Tracer* tracer() const { return tracer_; }
  // It goes on: whoever gets the side lets go of the tracer.
  Presence::Side Keep() {
    entry_ = nullptr;
    return side_;
  }

 private:
  Entry* entry_;
  const Presence::Side side_;
  Tracer* tracer_;
};

struct State {
  Mutex mu;
  std::shared_ptr<const Driver> driver VS_GUARDED_BY(mu);
  Status started VS_GUARDED_BY(mu) = absl::UnavailableError("not started");
  std::vector<uint32_t> calls;
  vramspanLaunchSink sink{};
  std::atomic<Decoder*> decoder{nullptr};  // Never taken apart: calls may be under way.
  std::array<Entry, Tracing::kMost> entries;
  std::atomic<uint32_t> tracers{0};  // How many of them are in use.
  // Contexts that submitted work beside the memory of others. A primary one stays: calls that end
  // it name its device.
  std::array<std::atomic<CUcontext>, 64> passers{};
  std::atomic<bool> sees{false};
  std::atomic<vramspanLaunchSourceStart_t> hooks{nullptr};
  // Null where CUPTI is not the source, or no more.
  vramspanLaunchSourceStop_t stop_cupti VS_GUARDED_BY(mu) = nullptr;
  // The hooks stand by while CUPTI is the source: they count the calls that they leave to it.
  vramspanLaunchSink standby{};
  bool standing_by VS_GUARDED_BY(mu) = false;
  std::atomic<bool> hooks_took_over{false};
  std::atomic<int64_t> left_to_cupti{0};
};

State& TheState() {
  static State* state = new State;  // Calls may come until the process is gone.
  return *state;
}

Entry* EntryOf(CUcontext context) {
  for (Entry& e : TheState().entries) {
    if (e.context.load(std::memory_order_acquire) == context) return &e;
  }
  return nullptr;
}

bool DestroysStream(uint32_t call) {
  return call == CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy ||
         call == CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2;
}

bool DestroysContext(uint32_t call) {
  return call == CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy ||
         call == CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2;
}

// A call that looks memory up has the runtimes that were told of it in its token, a bit each; the
// token of one that submits work names its tracer's entry and the side that the thread is on.
constexpr uint64_t kLooksUp = 1;
// Of one that waits, its tracer's address with this.
constexpr uint64_t kWaits = 2;
static_assert(Tracing::kMost < 63 && alignof(Tracer) > kWaits);

uint64_t TokenOf(const Entry& entry, Presence::Side side) {
  const auto index = static_cast<uint64_t>(&entry - TheState().entries.data());
  return (index + 1) << 8 | uint64_t{side} << 2;
}
Entry& EntryOfToken(uint64_t token) { return TheState().entries[(token >> 8) - 1]; }
Presence::Side SideOfToken(uint64_t token) { return (token >> 2) & 1; }

uint64_t BeginAddressQuery() {
  uint64_t token = 0;
  uint64_t bit = kLooksUp << 1;
  for (Entry& e : TheState().entries) {
    if (e.tracer.load(std::memory_order_acquire) != nullptr) {
      const Using use(e);
      if (use.tracer() != nullptr && use.tracer()->BeginAddressQuery()) token |= bit | kLooksUp;
    }
    bit <<= 1;
  }
  return token;
}

void EndAddressQuery(uint64_t token) {
  uint64_t bit = kLooksUp << 1;
  for (Entry& e : TheState().entries) {
    if ((token & bit) != 0) {
      const Using use(e);
      if (use.tracer() != nullptr) use.tracer()->EndAddressQuery();
    }
    bit <<= 1;
  }
}

// Work of one context in another's memory: copies between devices, mostly. It is waited for, so
// that nothing moves under it.
struct Visit {
  uint32_t tracers = 0;  // A bit each.
  uint32_t passing = 0;  // Those beside whose memory it only might be.
  uint32_t sides = 0;    // On which side the thread uses them.
  CUstream stream = nullptr;

  bool any() const { return (tracers | passing) != 0; }
};
static_assert(Tracing::kMost <= 32);
VS_HOT_THREAD_LOCAL Visit visit;

// Each context once, or twice where another has gone meanwhile. What does not fit goes unnoticed.
void NoteUntracked(CUcontext context) {
  for (std::atomic<CUcontext>& passer : TheState().passers) {
    CUcontext known = passer.load(std::memory_order_relaxed);
    if (known == context) return;
    if (known != nullptr) continue;
    if (passer.compare_exchange_strong(known, context) || known == context) return;
  }
}

// It is about to go, and its work with it. Its place may be another's from then on.
void ForgetPasser(CUcontext context) {
  for (std::atomic<CUcontext>& passer : TheState().passers) {
    CUcontext known = context;
    passer.compare_exchange_strong(known, nullptr);
  }
}

void BeginForeignWork(uint32_t call, const void* params, CUcontext context, const Tracer* own) {
  State& state = TheState();
  if (state.tracers.load(std::memory_order_relaxed) == (own != nullptr ? 1 : 0)) return;
  // Before it passes any gate: who closes that looks here.
  NoteUntracked(context);
  for (size_t i = 0; i < state.entries.size(); ++i) {
    Tracer* const other = state.entries[i].tracer.load(std::memory_order_acquire);
    if (other == nullptr || other == own) continue;
    const OwnCallsOfLaunch calls;
    Using use(state.entries[i]);
    if (use.tracer() == nullptr) continue;
    const Tracer::Foreign begun = use.tracer()->BeginForeignWork(call, params);
    if (begun == Tracer::Foreign::kNone) continue;
    (begun == Tracer::Foreign::kUntracked ? visit.passing : visit.tracers) |= 1u << i;
    visit.sides = (visit.sides & ~(1u << i)) | use.Keep() << i;
  }
  if (visit.tracers != 0) visit.stream = Tracer::StreamOf(call, params);
}

void EndForeignWork() {
  State& state = TheState();
  const uint32_t passing = std::exchange(visit.passing, 0),
                 visited = std::exchange(visit.tracers, 0);
  for (size_t i = 0; i < state.entries.size(); ++i) {
    if (((passing | visited) & 1u << i) == 0) continue;
    Entry& e = state.entries[i];
    Tracer* const tracer = e.kept.load(std::memory_order_acquire);
    if ((visited & 1u << i) != 0) {
      tracer->EndForeignWork(visit.stream);
    } else {
      tracer->EndUntracked();
    }
    e.inside.Leave(visit.sides >> i & 1);
  }
}

void EndWait(uint64_t token, uint32_t call, const void* params) {
  // The runtime may have gone while the thread waited.
  for (Entry& e : TheState().entries) {
    if ((reinterpret_cast<uintptr_t>(e.tracer.load(std::memory_order_acquire)) | kWaits) != token) {
      continue;
    }
    const Using use(e);
    if (use.tracer() != nullptr) use.tracer()->EndWait(call, params);
  }
}

void Enter(uint32_t call, const void* params, CUcontext context, uint64_t* token) {
  if (OwnCalls::Now() || !Here()) return;
  const CallClass call_class = Decoder::ClassOf(call);
  if (call_class == CallClass::kSubmits) {
    if (context == nullptr || Mover::InScope()) return;
    Entry* const entry = EntryOf(context);
    if (entry == nullptr) {
      BeginForeignWork(call, params, context, nullptr);
      return;
    }
    Using use(*entry);
    BeginForeignWork(call, params, context, use.tracer());
    if (use.tracer() == nullptr) return;
    const OwnCallsOfLaunch own;
    if (use.tracer()->Enter(call, params)) *token = TokenOf(*entry, use.Keep());
    return;
  }
  if (call_class == CallClass::kWaits) {
    const OwnCallsOfLaunch own;
    Entry* const entry = context != nullptr ? EntryOf(context) : nullptr;
    if (entry == nullptr) return;
    const Using use(*entry);
    if (use.tracer() == nullptr) return;
    use.tracer()->BeginWait(call, params);
    *token = reinterpret_cast<uintptr_t>(use.tracer()) | kWaits;
    return;
  }
  const OwnCalls own;
  if (DestroysStream(call)) {
    // Whatever context is current: a stream may be destroyed beside another's, or beside none.
    for (Entry& e : TheState().entries) {
      if (e.tracer.load(std::memory_order_acquire) == nullptr) continue;
      const Using use(e);
      // The one parameter there is.
      if (use.tracer() != nullptr) use.tracer()->StreamGoes(*static_cast<const CUstream*>(params));
    }
    return;
  }
  if (DestroysContext(call)) ForgetPasser(*static_cast<const CUcontext*>(params));
  Decoder& decoder = *TheState().decoder.load(std::memory_order_acquire);
  if (decoder.LooksUp(call, params)) *token = BeginAddressQuery();
  if (call_class == CallClass::kDefines) {
    decoder.Before(call, params);
  }
}

void Exit(uint32_t call, const void* params, CUresult result, uint64_t token) {
  if (!Here()) return;
  if ((token & (kLooksUp | kWaits)) == kWaits) {
    const OwnCallsOfLaunch own;
    EndWait(token, call, params);
    return;
  }
  if ((token & kLooksUp) != 0) {
    const OwnCalls own;
    EndAddressQuery(token);
  } else if (token != 0) {
    const OwnCallsOfLaunch own;
    Entry& e = EntryOfToken(token);
    e.kept.load(std::memory_order_acquire)->Exit(Tracer::StreamOf(call, params));
    e.inside.Leave(SideOfToken(token));
    if (visit.any()) EndForeignWork();
    return;
  }
  if (visit.any() && !OwnCalls::Now()) {
    const OwnCalls own;
    EndForeignWork();
  }
  if (OwnCalls::Now() || Decoder::ClassOf(call) != CallClass::kDefines) return;
  const OwnCalls own;
  TheState().decoder.load(std::memory_order_acquire)->Learn(call, params, result);
}

// Calls that the hooks see, each from its entry to its exit, once they have taken over: CUPTI may
// see them as well for a moment.
thread_local int in_hooks = 0;

void EnterByCupti(uint32_t call, const void* params, CUcontext context, uint64_t* token) {
  if (in_hooks != 0) return;
  Enter(call, params, context, token);
  // No frame of ours is there to leave the scope where the thread is cancelled in the driver.
  if (*token != 0 && (*token & (kLooksUp | kWaits)) == 0) Uncancellable::Hold();
}
void ExitByCupti(uint32_t call, const void* params, CUresult result, uint64_t token) {
  if (in_hooks == 0) Exit(call, params, result, token);
}

// The token of a call that the hooks left to CUPTI: looks up, but in no runtime.
constexpr uint64_t kLeftToCupti = kLooksUp;

void EnterByStandby(uint32_t call, const void* params, CUcontext context, uint64_t* token) {
  State& state = TheState();
  // Counts and then looks; GiveUpCupti looks the other way round: one of the two sees the other.
  state.left_to_cupti.fetch_add(1);
  if (!state.hooks_took_over.load()) {
    *token = kLeftToCupti;
    return;
  }
  state.left_to_cupti.fetch_sub(1);
  ++in_hooks;
  Enter(call, params, context, token);
}
void ExitByStandby(uint32_t call, const void* params, CUresult result, uint64_t token) {
  if (token == kLeftToCupti) {
    TheState().left_to_cupti.fetch_sub(1);
    return;
  }
  Exit(call, params, result, token);
  --in_hooks;
}

// Whether all memory has come to rest.
bool StopTracking(State* state, const char* why) VS_REQUIRES(state->mu) {
  state->sees.store(false, std::memory_order_release);
  state->started = absl::UnavailableError(why);
  bool rests = true;
  for (Entry& e : state->entries) {
    Tracer* const tracer = e.tracer.load(std::memory_order_relaxed);
    if (tracer != nullptr && !tracer->StopTracking()) rests = false;
  }
  Log(LogLevel::kError,
      absl::StrCat("launches are no longer seen (", why, "), so memory stays where it is"));
  return rests;
}

void Lost(const char* why) {
  State& state = TheState();
  MutexLock lock(state.mu);
  StopTracking(&state, why);
}

constexpr const char* kTaken = "CUPTI was given up to another tool";
constexpr std::chrono::seconds kPatience{1};

// Every call from here on is the hooks', and none of CUPTI's is under way.
bool LetHooksTakeOver(State* state) {
  state->hooks_took_over.store(true);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (state->left_to_cupti.load() != 0) {
    if (std::chrono::steady_clock::now() >= until) {
      state->hooks_took_over.store(false);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

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
  Decoder* const decoder = TheState().decoder.load(std::memory_order_acquire);
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

Decoder* Tracing::decoder() { return TheState().decoder.load(std::memory_order_acquire); }

size_t Tracing::tracers() { return TheState().tracers.load(std::memory_order_relaxed); }

std::vector<CUcontext> Tracing::Passers(CUcontext own) {
  std::vector<CUcontext> others;
  for (const std::atomic<CUcontext>& passer : TheState().passers) {
    const CUcontext context = passer.load(std::memory_order_relaxed);
    if (context != nullptr && context != own) others.push_back(context);
  }
  return others;
}

GraphLaunch Tracing::HowToLaunch(CUcontext context, CUgraphExec exec) {
  Entry* const entry = Here() ? EntryOf(context) : nullptr;
  if (entry == nullptr) return GraphLaunch::kWhole;
  const OwnCalls own;
  const Using use(*entry);
  return use.tracer() != nullptr ? use.tracer()->HowToLaunch(exec) : GraphLaunch::kWhole;
}

bool Tracing::Tracks(CUcontext context) {
  Entry* const entry = Here() ? EntryOf(context) : nullptr;
  if (entry == nullptr) return false;
  const Using use(*entry);
  return use.tracer() != nullptr && use.tracer()->tracks();
}

std::vector<size_t> Tracing::CutsOf(CUcontext context, CUgraphExec exec,
                                    absl::Span<const CUgraphNode> nodes) {
  Entry* const entry = Here() ? EntryOf(context) : nullptr;
  if (entry == nullptr) return {};
  const OwnCalls own;
  const Using use(*entry);
  return use.tracer() != nullptr ? use.tracer()->CutsOf(exec, nodes) : std::vector<size_t>();
}

void Tracing::NoteSegments(CUcontext context, size_t segments) {
  Entry* const entry = EntryOf(context);
  if (entry == nullptr) return;
  const Using use(*entry);
  if (use.tracer() != nullptr) use.tracer()->NoteSegments(segments);
}

bool Tracing::Inherited() {
  const OwnProcess started = started_in.load(std::memory_order_relaxed);
  return !started.None() && !started.Here();
}

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
    started_in.store(OwnProcess::This(), std::memory_order_relaxed);
    state.driver = driver;
    auto* const decoder = new Decoder(driver);
    AddTrustFiles(&decoder->codes().trust());
    state.decoder.store(decoder, std::memory_order_release);
    for (const CallClass c :
         {CallClass::kSubmits, CallClass::kDefines, CallClass::kLooksUp, CallClass::kWaits}) {
      for (const uint32_t call : Decoder::CallsOf(c)) state.calls.push_back(call);
    }
    state.calls.push_back(CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy);
    state.calls.push_back(CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2);
    state.sink = {.version = VRAMSPAN_LAUNCH_SOURCE_VERSION,
                  .count = static_cast<uint32_t>(state.calls.size()),
                  .calls = state.calls.data(),
                  .enter = &Enter,
                  .exit = &Exit,
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
  state.sink.enter = take_hooks ? &Enter : &EnterByCupti;
  state.sink.exit = take_hooks ? &Exit : &ExitByCupti;
  if ((*start)(&state.sink, cupti.empty() ? nullptr : cupti.c_str(), error, sizeof(error)) != 0) {
    return state.started = absl::UnavailableError(error);
  }
  if (!take_hooks) {
    const StatusOr<vramspanLaunchSourceStop_t> stop = tracer_library::LaunchSourceStop();
    if (stop.ok()) state.stop_cupti = *stop;
    state.standby = state.sink;
    state.standby.enter = &EnterByStandby;
    state.standby.exit = &ExitByStandby;
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
  if (state.standing_by && !LetHooksTakeOver(&state)) {
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
    state.hooks_took_over.store(false);
    return absl::DeadlineExceededError(absl::StrCat("CUPTI is kept: ", error));
  }
  state.stop_cupti = nullptr;
  if (state.standing_by) {
    Log(LogLevel::kInfo, absl::StrCat(kTaken, ": launches are seen by hooks from here on"));
  }
  return absl::OkStatus();
}

Status Tracing::Add(CUcontext context, Tracer* tracer, DevicePtr arena, Bytes size) {
  State& state = TheState();
  MutexLock lock(state.mu);
  for (Entry& e : state.entries) {
    if (e.kept.load(std::memory_order_relaxed) != nullptr) continue;
    decoder()->AddArena(arena, size);
    e.kept.store(tracer, std::memory_order_release);
    e.tracer.store(tracer, std::memory_order_release);
    e.context.store(context, std::memory_order_release);
    state.tracers.fetch_add(1, std::memory_order_relaxed);
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat("launches are already traced for ", kMost,
                                                   " runtimes, the most that are possible"));
}

bool Tracing::Remove(Tracer* tracer, DevicePtr arena) {
  State& state = TheState();
  Entry* entry = nullptr;
  {
    MutexLock lock(state.mu);
    for (Entry& e : state.entries) {
      if (e.kept.load(std::memory_order_relaxed) != tracer) continue;
      entry = &e;
      if (e.tracer.load(std::memory_order_relaxed) == nullptr) break;  // Was tried before.
      e.context.store(nullptr, std::memory_order_seq_cst);
      e.tracer.store(nullptr, std::memory_order_seq_cst);
      state.tracers.fetch_sub(1, std::memory_order_relaxed);
      decoder()->RemoveArena(arena);
    }
  }
  if (entry == nullptr) return true;
  // Not under the lock: who is inside may need it.
  if (!entry->inside.AwaitLeft(kRemovePatience)) return false;
  entry->kept.store(nullptr, std::memory_order_release);
  return true;
}

}  // namespace vramspan
