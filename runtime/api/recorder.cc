#include "runtime/api/recorder.h"

#include <absl/strings/str_cat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "runtime/base/clean_text.h"
#include "runtime/base/log.h"
#include "runtime/base/own_calls.h"
#include "runtime/base/thread.h"
#include "runtime/base/thread_local.h"
#include "runtime/base/thread_number.h"

namespace vramspan {
namespace {

// Beyond so many nothing new is told apart: a program that makes kernels without end.
constexpr size_t kMostCodes = 1 << 16;
constexpr size_t kMostStreams = 1 << 16;
// Of work that was let go with memory on the host and never measured.
constexpr size_t kMostRemote = 1 << 16;
constexpr uint32_t kDeclared = 0;  // The code of what the program declares,
constexpr uint32_t kForeign = 1;   // and of work of other contexts.
// Of a kernel's launches, so many are measured; after that one in so many, and one in more when
// that many have been. Which is by chance: what repeats itself, as a model's layers do, would else
// be measured at the same place each time.
constexpr uint32_t kFirstMeasured = 16;
constexpr uint32_t kOneIn = 8;
constexpr uint32_t kWellMeasured = 64;
constexpr uint32_t kThenOneIn = 32;
// A copy that took longer to submit than this waited for its stream: what is not pinned on the host
// goes while the program waits, but for so little from the host, which is put aside.
constexpr uint64_t kLongCall = 20'000;
constexpr Bytes kPutAside = KiB(64);
constexpr uint64_t kNever = UINT64_MAX;
// After so many pieces of work a thread tells what it took to record them.
constexpr uint32_t kCostEvery = 32;
// To the timer, fingerprints are work with this in its id.
constexpr uint64_t kFingerprints = uint64_t{1} << 63;

// The work that the thread is about to submit, or submits.
struct Current {
  Recorder* recorder = nullptr;
  uint64_t id = 0;
  CUstream stream = nullptr;
  CUevent start = nullptr;
  bool measure = false;
  uint64_t since = 0;
  uint64_t waits_after = kNever;  // A call that takes longer than this waits for its stream.
};

std::atomic<uint64_t> next_recorder{1};

uint64_t WaitsAfter(const Submission& s) {
  if (s.waits) return 0;
  if (s.kind != Submission::Kind::kCopy) return kNever;
  Bytes from_host;
  for (const HostCopy& copy : s.host_copies) from_host += copy.size;
  return from_host != Bytes(0) && from_host <= kPutAside ? kNever : kLongCall;
}

}  // namespace

struct Recorder::Mine {
  static Mine& Get() { return PerThread<Mine>::Mine(); }

  Current current;
  uint64_t waiting_since = 0;
  uint64_t entered = 0;
  // Nanoseconds, of so many pieces of work: of all recorders that the thread works for, the one
  // that is told learns what a piece takes on average.
  uint64_t cost = 0;
  uint32_t cost_works = 0;
  trace::WorkEvent work;
  uint32_t dice = 1;

  struct Stream {
    uint64_t recorder = 0;
    CUstream stream = nullptr;
    uint32_t number = 0;
  };
  std::array<Stream, 4> streams;
  unsigned next_stream = 0;

  struct Launched {
    uint64_t recorder = 0;
    const void* code = nullptr;
    uint64_t shape = 0;
    Code* known = nullptr;
  };
  static constexpr int kLaunchedLog2 = 10;
  Launched& PlaceOf(const void* code, uint64_t shape) {
    const uint64_t hash = (reinterpret_cast<uintptr_t>(code) ^ shape) * 0x9e3779b97f4a7c15u;
    return launched[hash >> (64 - kLaunchedLog2)];
  }
  // By a hash of code and shape.
  std::vector<Launched> launched = std::vector<Launched>(size_t{1} << kLaunchedLog2);
};

Recorder::Recorder(std::shared_ptr<const Driver> driver, Times times)
    : driver_(std::move(driver)),
      id_(next_recorder.fetch_add(1, std::memory_order_relaxed)),
      measures_(times != Times::kNone),
      measure_all_(times == Times::kAll) {}

StatusOr<Recorder::Times> Recorder::ParseTimes(std::string_view text) {
  if (text == "none") return Times::kNone;
  if (text == "some") return Times::kSome;
  if (text == "all") return Times::kAll;
  return absl::InvalidArgumentError(absl::StrCat(
      "'", Repeated(text), "' does not say which launches to time; use some, all or none"));
}

StatusOr<std::unique_ptr<Recorder>> Recorder::Open(const std::string& path, Times times,
                                                   std::shared_ptr<const Driver> driver,
                                                   CUcontext context, trace::Header header) {
  header.pid = static_cast<uint64_t>(getpid());
  header.began_unix_ns = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch() /
                                               std::chrono::nanoseconds(1));
  VS_ASSIGN_OR_RETURN(header.program, RecordedCommandLine());
  header.times = times == Times::kNone ? "none" : "events";
  std::unique_ptr<Recorder> r(new Recorder(driver, times));
  VS_ASSIGN_OR_RETURN(r->writer_, OpenOrBeside(path, [&](const std::string& file) {
                        return trace::Writer::Open({.path = file}, header);
                      }));
  r->writer_->Add(trace::CodeEvent{kDeclared, 0, "(declared work)"});
  r->writer_->Add(trace::CodeEvent{kForeign, 0, "(work of another context)"});
  VS_ASSIGN_OR_RETURN(
      r->timer_,
      WorkTimer::Start(
          driver, context,
          [raw = r.get()](uint64_t id, WorkTimer::Clock::time_point start,
                          WorkTimer::Clock::duration took) {
            if ((id & kFingerprints) != 0) {
              raw->watch_->Done(id & ~kFingerprints);
              return;
            }
            Bytes remote;
            {
              MutexLock lock(raw->mu_);
              const auto it = raw->remote_.find(id);
              if (it != raw->remote_.end()) {
                remote = it->second;
                raw->remote_.erase(it);
              }
            }
            raw->writer_->Add(trace::TimesEvent{id, raw->writer_->At(start),
                                                static_cast<uint64_t>(took.count()), remote});
          },
          [raw = r.get()](uint64_t id) {
            if ((id & kFingerprints) != 0) {
              raw->watch_->Lost(id & ~kFingerprints, /*run=*/false);
              return;
            }
            MutexLock lock(raw->mu_);
            raw->remote_.erase(id);
          }));
  r->Lives();
  return r;
}

Recorder::~Recorder() {
  LivesNoMore();
  Finish();
}

void Recorder::WatchContents(CUcontext context, Memory* memory, const Mover* mover) {
  mover_ = mover;
  auto made = ContentWatch::Create(driver_, context, memory,
                                   [this](const trace::CompareEvent& e) { writer_->Add(e); });
  if (made.ok()) {
    watch_ = *std::move(made);
  } else {
    Log(LogLevel::kInfo, absl::StrCat("the recording cannot tell what kernels only read: ",
                                      made.status().message()));
  }
}

void Recorder::StopWatching() {
  if (watch_ == nullptr) return;
  // Its thread tells of what has ended.
  timer_->Stop();
  watch_.reset();
}

void Recorder::Finish() {
  {
    MutexLock lock(mu_);
    if (std::exchange(finished_, true)) return;
  }
  // Neither where it was never whole. Threads of the program may still be at it.
  if (timer_ != nullptr) timer_->Stop();
  if (watch_ != nullptr) watch_->Abandon();
  if (writer_ == nullptr) return;
  const Status closed = writer_->Close();
  if (!closed.ok()) Log(LogLevel::kError, std::string(closed.message()));
}

void Recorder::Allocated(DevicePtr base, Bytes size) {
  writer_->Add(trace::AllocateEvent{writer_->Now(), base, size});
  if (watch_ != nullptr) watch_->Made(base, size);
}

void Recorder::Mapped(DevicePtr base, Bytes size) {
  writer_->Add(trace::AllocateEvent{writer_->Now(), base, size});
  if (watch_ != nullptr) watch_->Mapped(base, size);
}

void Recorder::Freeing(DevicePtr base) { writer_->Add(trace::FreeEvent{writer_->Now(), base}); }

void Recorder::Discarded(DevicePtr ptr, Bytes size, bool unowned) {
  if (unowned) unowned_.Add(ptr, size);
  writer_->Add(trace::DiscardEvent{writer_->Now(), ptr, size, unowned});
}

void Recorder::Owned(DevicePtr ptr, Bytes size) {
  if (unowned_.Remove(ptr, size)) writer_->Add(trace::OwnEvent{writer_->Now(), ptr, size});
}

void Recorder::BudgetIs(Bytes device) { writer_->Add(trace::BudgetEvent{writer_->Now(), device}); }

bool Recorder::Captures(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return (*driver_)->StreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

uint32_t Recorder::StreamNumber(CUstream stream) {
  Mine& mine = Mine::Get();
  for (const Mine::Stream& known : mine.streams) {
    if (known.recorder == id_ && known.stream == stream) return known.number;
  }
  const uint32_t number =
      NumberOf({stream, stream == CU_STREAM_PER_THREAD ? ThreadNumber::Mine() : uint64_t{0}});
  mine.streams[mine.next_stream++ % mine.streams.size()] = {id_, stream, number};
  return number;
}

uint32_t Recorder::NumberOf(const StreamKey& key) {
  MutexLock lock(mu_);
  const auto known = streams_.find(key);
  if (known != streams_.end()) return known->second;
  const auto number = static_cast<uint32_t>(streams_.size());
  if (streams_.size() < kMostStreams) streams_.emplace(key, number);
  return number;
}

std::string Recorder::NameOf(const void* code, Submission::Kind kind, uint32_t number) {
  switch (kind) {
    case Submission::Kind::kGraph:
      return absl::StrCat("(graph ", number, ")");
    case Submission::Kind::kCopy:
      return "(copies and fills)";
    case Submission::Kind::kUnknown:
      return "(a call that cannot be read)";
    case Submission::Kind::kKernel:
      break;
  }
  return KernelName(*driver_, code);
}

Recorder::Numbered Recorder::CodeOf(const Submission& s) {
  const Submission::Kind kind = s.kind;
  const void* code = s.code;
  uint64_t shape = s.shape;
  if (kind == Submission::Kind::kCopy || kind == Submission::Kind::kUnknown) {
    // One for all of the kind; no kernel lies at such an address.
    code = reinterpret_cast<const void*>(static_cast<uintptr_t>(kind) + 1);
    shape = 0;
  }
  Mine::Launched& place = Mine::Get().PlaceOf(code, shape);
  if (place.recorder == id_ && place.code == code && place.shape == shape) [[likely]] {
    return {place.known->number, Measures(place.known, kind)};
  }
  bool made = false;
  Code* const known = FindCode(code, shape, &made);
  if (known == nullptr) return {kForeign + static_cast<uint32_t>(kMostCodes) + 1, true};
  place = {id_, code, shape, known};
  if (!made) return {known->number, Measures(known, kind)};
  writer_->Add(trace::CodeEvent{known->number, shape, NameOf(code, kind, known->number)});
  if (kind == Submission::Kind::kKernel) {
    const uint32_t first = FirstAlike(s, known->number);
    if (first != known->number) writer_->Add(trace::AlikeEvent{known->number, first});
  }
  return {known->number, true};
}

Recorder::Code* Recorder::FindCode(const void* code, uint64_t shape, bool* made) {
  MutexLock lock(mu_);
  const auto found = codes_.find({code, shape});
  if (found != codes_.end()) return found->second.get();
  if (codes_.size() == kMostCodes) return nullptr;
  *made = true;
  std::unique_ptr<Code>& known = codes_[{code, shape}];
  known = std::make_unique<Code>(kForeign + static_cast<uint32_t>(codes_.size()));
  return known.get();
}

uint32_t Recorder::FirstAlike(const Submission& s, uint32_t number) {
  MutexLock lock(mu_);
  return alike_.try_emplace({s.code, s.rough_shape}, number).first->second;
}

bool Recorder::Measures(Code* code, Submission::Kind kind) {
  if (!measures_) return false;
  const uint32_t measured = code->measured.load(std::memory_order_relaxed);
  if (measured >= kFirstMeasured && kind != Submission::Kind::kGraph &&
      !measure_all_.load(std::memory_order_relaxed)) {
    uint32_t& dice = Mine::Get().dice;
    dice = dice * 1664525 + 1013904223;
    const uint32_t one_in = measured < kWellMeasured ? kOneIn : kThenOneIn;
    if ((dice >> 16) % one_in != 0) return false;
  }
  if (measured < kWellMeasured) code->measured.fetch_add(1, std::memory_order_relaxed);
  return true;
}

uint64_t Recorder::Add(trace::WorkEvent* event, CUstream stream, bool measure) {
  event->id = next_.fetch_add(1, std::memory_order_relaxed);
  event->stream = StreamNumber(stream);
  writer_->Add(*event);
  const uint64_t now = writer_->Now();
  Mine& mine = Mine::Get();
  mine.cost += now - event->time;
  mine.current = {this, event->id, stream, nullptr, measure, now, kNever};
  return event->id;
}

void Recorder::Entering() { Mine::Get().entered = writer_->Now(); }

void Recorder::NoteCost(uint64_t since) {
  Mine& mine = Mine::Get();
  mine.cost += writer_->Now() - since;
}

uint64_t Recorder::Submitting(const Submission& s, absl::Span<const InferredRange> ranges,
                              bool complete) {
  Mine& mine = Mine::Get();
  mine.current = {};
  if (Captures(s.stream)) return 0;
  trace::WorkEvent& event = mine.work;
  switch (s.kind) {
    case Submission::Kind::kKernel:
      event.kind = trace::WorkEvent::Kind::kKernel;
      break;
    case Submission::Kind::kGraph:
      event.kind = trace::WorkEvent::Kind::kGraph;
      break;
    case Submission::Kind::kCopy:
      event.kind = trace::WorkEvent::Kind::kCopy;
      break;
    case Submission::Kind::kUnknown:
      event.kind = trace::WorkEvent::Kind::kUnknown;
      break;
  }
  event.time = mine.entered;
  event.complete = complete;
  const bool launch = s.kind == Submission::Kind::kKernel || s.kind == Submission::Kind::kGraph;
  // That code stays in arrays is not told: a replay takes all of an allocation for possible.
  event.trust = launch ? std::min(s.trust, Trust::kProven) : Trust::kUntried;
  const Numbered code = CodeOf(s);
  event.code = code.number;
  event.ranges.clear();
  for (const InferredRange& r : ranges) {
    if (r.of_last) {
      event.ranges.back().settled = r.settled;
      event.ranges.back().told = r.told;
      continue;
    }
    event.ranges.push_back({.ptr = r.ptr,
                            .size = r.size,
                            .slot = r.slot,
                            .write = r.write,
                            .exact = r.exact,
                            .settled = r.settled,
                            .possible = !r.likely,
                            .told = r.told});
  }
  Add(&event, s.stream, code.measure);
  mine.current.waits_after = WaitsAfter(s);
  return event.id;
}

uint64_t Recorder::Declaring(CUstream stream, absl::Span<const WorkRange> ranges, Access access) {
  Mine& mine = Mine::Get();
  mine.current = {};
  if (Captures(stream)) return 0;
  trace::WorkEvent& event = mine.work;
  event.time = writer_->Now();
  event.kind = trace::WorkEvent::Kind::kDeclared;
  event.complete = access == Access::kExact;
  event.trust = Trust::kUntried;
  event.code = kDeclared;
  event.ranges.clear();
  for (const WorkRange& r : ranges) {
    event.ranges.push_back(
        {.ptr = r.ptr, .size = r.size, .write = r.use.write, .exact = r.use.once});
  }
  return Add(&event, stream, /*measure=*/true);
}

void Recorder::ForeignWork(CUstream stream) {
  writer_->Add(trace::WorkEvent{.time = writer_->Now(),
                                .id = next_.fetch_add(1, std::memory_order_relaxed),
                                .stream = NumberOf(ForeignKey(stream)),
                                .code = kForeign,
                                .kind = trace::WorkEvent::Kind::kForeign,
                                .complete = false,
                                .ranges = {}});
}

void Recorder::Starting() {
  Current& current = Mine::Get().current;
  if (current.recorder != this || !current.measure || !measures_) return;
  const uint64_t since = writer_->Now();
  current.start = timer_->Before(current.stream);
  NoteCost(since);
}

void Recorder::Submitted() {
  Current& current = Mine::Get().current;
  if (current.recorder != this) return;
  const uint64_t now = writer_->Now();
  if (current.start != nullptr) timer_->Behind(current.start, current.stream, current.id);
  if (current.waits_after != kNever && now - current.since >= current.waits_after) {
    AddWait(current.since, WaitsFor::kStream, StreamNumber(current.stream));
  }
  if (watch_ != nullptr && Mover::InScope() && !mover_->tracking()) TakeFingerprints();
  current = {};
  Mine& mine = Mine::Get();
  if (++mine.cost_works == kCostEvery) {
    writer_->Add(trace::CostEvent{std::exchange(mine.cost_works, 0), std::exchange(mine.cost, 0)});
  }
  NoteCost(now);
}

void Recorder::Waiting() { Mine::Get().waiting_since = writer_->Now(); }

void Recorder::Waited(WaitsFor what, CUstream stream) {
  AddWait(Mine::Get().waiting_since, what, what == WaitsFor::kStream ? StreamNumber(stream) : 0);
}

void Recorder::WaitedForForeignWork(CUstream stream) {
  AddWait(Mine::Get().waiting_since, WaitsFor::kStream, NumberOf(ForeignKey(stream)));
}

void Recorder::AddWait(uint64_t since, WaitsFor what, uint32_t stream) {
  trace::WaitEvent event;
  event.time = writer_->Now();
  event.duration = event.time - since;
  using For = trace::WaitEvent::For;
  static_assert(static_cast<For>(WaitsFor::kAll) == For::kAll &&
                static_cast<For>(WaitsFor::kEvent) == For::kEvent &&
                static_cast<For>(WaitsFor::kStream) == For::kStream);
  event.what = static_cast<For>(what);
  event.stream = stream;
  writer_->Add(event);
}

void Recorder::TakeFingerprints() {
  // What Submitting or Declaring has made of the work on this thread.
  const trace::WorkEvent& work = Mine::Get().work;
  const Current& current = Mine::Get().current;
  if (work.kind == trace::WorkEvent::Kind::kCopy) return;
  const uint64_t number = watch_->Due(work.ranges, current.id);
  if (number == 0) return;
  const CUevent before = timer_->Before(current.stream);
  if (before == nullptr) {
    watch_->Drop(number);
  } else if (watch_->Queue(number, current.stream)) {
    if (!timer_->Behind(before, current.stream, kFingerprints | number))
      watch_->Lost(number, /*run=*/true);
  } else {
    timer_->Forget(before);
  }
}

void Recorder::Moved(DevicePtr base, Bytes size, bool in, bool clean,
                     std::chrono::steady_clock::time_point began) {
  // From here on what is remote while it runs differs from launch to launch.
  measure_all_.store(true, std::memory_order_relaxed);
  const auto now = std::chrono::steady_clock::now();
  writer_->Add(trace::MoveEvent{writer_->At(now), static_cast<uint64_t>((now - began).count()),
                                base, size, in, clean});
}

void Recorder::Released(uint64_t tag, Bytes remote) {
  if (remote.value == 0) return;
  measure_all_.store(true, std::memory_order_relaxed);
  MutexLock lock(mu_);
  if (remote_.size() < kMostRemote) remote_.emplace(tag, remote);
}

}  // namespace vramspan
