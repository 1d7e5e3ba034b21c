#include "runtime/api/tracer.h"

#include <absl/hash/hash.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "runtime/api/encoded_cache.h"
#include "runtime/api/extent_cache.h"
#include "runtime/base/log.h"
#include "runtime/base/own_calls.h"
#include "runtime/base/thread_local.h"
#include "runtime/base/uncancellable.h"

namespace vramspan {
namespace {

// Filled by one call after the other of the thread; their memory is kept.
struct Scratch {
  Submission submission;
  std::vector<InferredRange> inferred;
  std::vector<WorkRange> ranges;
  ExtentCache extents;
  std::vector<Extent> others;    // That it names, of which others have given blocks back.
  std::vector<uint64_t> blocks;  // That it names, by their keys.
  EncodedCache encoded;
  LaunchMemo memo;
  WorkingSets::Repeatable again;  // Of a launch that is to be learnt.
};
// Each allocation once.
void NoteOther(const Extent& extent, std::vector<Extent>* others) {
  for (const Extent& known : *others) {
    if (known.base == extent.base) return;
  }
  others->push_back(extent);
}

// Work of somebody who has places of them that no block has is about to be submitted. `recorder`
// may be null.
void GiveToOthers(absl::Span<const Extent> others, Blocks* blocks, Mover* mover,
                  Recorder* recorder) {
  for (const Extent& e : others) {
    blocks->OthersHave(e.base, [&] {
      mover->placements().Own(e.base, e.size);
      if (recorder != nullptr) recorder->Owned(e.base, e.size);
    });
  }
}

// The same of work of which nobody can tell what it names.
void GiveAllToOthers(Blocks* blocks, Mover* mover, Recorder* recorder) {
  blocks->OthersMayHaveAny([&] {
    mover->placements().OwnAll();
    if (recorder != nullptr) recorder->Owned(DevicePtr(), Bytes(0));
  });
}

Scratch& MyScratch() { return PerThread<Scratch>::Mine(); }

// A framework's pool of so small a part of the budget is fetched whole.
constexpr uint64_t kPoolsOfBudget = 16;

// Between two looks whether work of another context has ended, and how long that is looked for: its
// stream may wait for what the thread does next.
constexpr std::chrono::microseconds kForeignLook{20};
constexpr std::chrono::seconds kForeignPatience{10};

std::atomic<uint64_t> tracers{1};

}  // namespace

StatusOr<Overlap> ParseOverlap(std::string_view text) {
  const std::optional<Overlap> overlap = OverlapOf(text);
  if (overlap.has_value()) return *overlap;
  return absl::InvalidArgumentError(absl::StrCat(
      "'", Repeated(text), "' is not a way to overlap; use auto, off, proven, safe or all"));
}

Tracer::Tracer(Decoder* decoder, Memory* memory, Mover* mover, Overlap overlap)
    : decoder_(*decoder),
      memory_(*memory),
      mover_(*mover),
      overlap_(overlap),
      number_(tracers.fetch_add(1, std::memory_order_relaxed)),
      sets_(Bytes(memory->ExpectedBudget().value / kPoolsOfBudget)),
      hidden_(memory->page_map().base(), memory->page_map().size()) {}

bool Tracer::Enter(uint32_t call, const void* params) {
  Blocks::NoteSubmission();
  if (!mover_.tracking() && audit_ == nullptr && recorder_ == nullptr) [[likely]] {
    if (Decoder::CopiesFromHost(call)) {
      Submission& s = MyScratch().submission;
      decoder_.Decode(call, params, &s);
      NoteCopies(s, &MyScratch().extents);
    }
    return mover_.Begin(StreamOf(call, params), {}, Access::kPartial).ok();
  }
  const Uncancellable now;
  // What a full queue has the driver wait for in the program's call it may wait for in ours.
  Uncancellable::NoteWait();
  return EnterDecoded(call, params);
}

Tracer::Foreign Tracer::BeginForeignWork(uint32_t call, const void* params) {
  mover_.BeginUntracked();
  if (!mover_.tracking() && recorder_ == nullptr) [[likely]]
    return Foreign::kUntracked;
  const Uncancellable now;
  Submission& s = MyScratch().submission;
  decoder_.Decode(call, params, &s);
  const PageMap& map = memory_.page_map();
  const bool named = std::any_of(s.touches.begin(), s.touches.end(), [&](const Touch& touch) {
    return touch.ptr < map.base() + map.size() &&
           map.base() < touch.ptr + std::max(touch.size, Bytes(1));
  });
  if (named && recorder_ != nullptr) recorder_->ForeignWork(s.stream);
  // Whether work is recorded changes only while nobody is inside the gate.
  while (mover_.tracking()) {
    mover_.EndUntracked();
    if (!named) return Foreign::kNone;
    Scratch& scratch = MyScratch();
    scratch.others.clear();
    for (const Touch& touch : s.touches) {
      const Extent extent = scratch.extents.Find(memory_, touch.ptr);
      if (extent.size == Bytes(0)) continue;
      if (blocks_.Find(extent.base, touch.ptr, Blocks::By::kWork).other) {
        NoteOther(extent, &scratch.others);
      }
    }
    GiveToOthers(scratch.others, &blocks_, &mover_, recorder_);
    if (mover_.BeginForeignWork()) return Foreign::kTouches;
    mover_.BeginUntracked();
  }
  return Foreign::kUntracked;
}

void Tracer::EndForeignWork(CUstream stream) {
  const Uncancellable now;
  const Driver& driver = memory_.driver();
  if (recorder_ != nullptr) recorder_->Waiting();
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  // What it ended with, the program is told when it waits itself. What is captured has not begun,
  // and nobody knows when it will.
  if (driver->StreamIsCapturing(stream, &capture) == CUDA_SUCCESS &&
      capture == CU_STREAM_CAPTURE_STATUS_NONE) {
    const ScopedRelaxed relaxed(driver);
    const auto until = std::chrono::steady_clock::now() + kForeignPatience;
    while (driver->StreamQuery(stream) == CUDA_ERROR_NOT_READY) {
      if (std::chrono::steady_clock::now() > until) {
        Log(LogLevel::kError,
            "work of another context does not end while memory is short, so no memory moves from "
            "here on");
        return;
      }
      std::this_thread::sleep_for(kForeignLook);
    }
  }
  mover_.EndForeignWork();
  if (recorder_ != nullptr) recorder_->WaitedForForeignWork(stream);
}

void Tracer::NoteCopies(const Submission& s, ExtentCache* extents) {
  Bytes scanned = s.scanned;
  for (const HostCopy& copy : s.host_copies) scanned += hidden_.Copied(copy);
  scanned_.fetch_add(scanned.value, std::memory_order_relaxed);
  // Nobody asks otherwise, and this is done while memory suffices as well.
  if (audit_ == nullptr && !decoder_.codes().AnyStaysInArrays()) return;
  for (const Upload& upload : s.uploads) {
    const Extent extent = extents->Find(memory_, upload.target);
    if (extent.size != Bytes(0)) sets_.Uploaded(extent, upload.target, upload.size);
  }
}

bool Tracer::FindEncoded(EncodedCache* cache, ExtentCache* extents, Submission* launch) {
  const EncodedAddresses& found = cache->Find(*launch, decoder_.arenas(), memory_, extents);
  if (!found.any()) return false;
  launches_encoded_.fetch_add(1, std::memory_order_relaxed);
  if (found.anywhere) launch->incomplete = true;
  for (const DevicePtr p : found.possible) {
    launch->touches.push_back({.ptr = p, .linear = false, .via = Via::kEncoded});
  }
  return true;
}

LaunchMemo::Grounds Tracer::GroundsOf(const Submission& launch) const {
  return {.tracer = number_,
          .trust = static_cast<uint64_t>(launch.trust),
          .allocations = memory_.allocations_state(),
          .hidden = hidden_.changes(),
          .watched = blocks_.watched(),
          .decoder = decoder_.grounds(),
          .incomplete = launch.incomplete};
}

LaunchMemo::Known* Tracer::Learn(const Submission& launch, const LaunchMemo::Grounds& grounds,
                                 const WorkingSets::Repeatable* again, LaunchMemo::Known* known,
                                 LaunchMemo* memo) {
  if (again == nullptr) {
    if (known != nullptr) memo->Forget(known);
    memo->Refuse();
    return nullptr;
  }
  // What must be inferred each time leaves room for what need not.
  if (known == nullptr && !again->any() && memo->size() * 2 > LaunchMemo::kMostOfThread) {
    return nullptr;
  }
  if (known == nullptr) known = memo->Learn(launch, grounds);
  if (known == nullptr) return nullptr;
  known->again = *again;
  known->kernel = 0;
  known->touches = launch.touches.size();
  memo->Count(known);
  return known;
}

bool Tracer::EnterKnown(const Submission& launch, LaunchMemo::Known* known) {
  launches_.fetch_add(1, std::memory_order_relaxed);
  launches_known_.fetch_add(1, std::memory_order_relaxed);
  touches_.fetch_add(known->touches, std::memory_order_relaxed);
  NoteLaunch(launch, known->trust);
  if (known->encoded) launches_encoded_.fetch_add(1, std::memory_order_relaxed);
  if (known->ranges.empty()) {
    if (known->access == Access::kExact) return false;
    launches_unknown_.fetch_add(1, std::memory_order_relaxed);
    GiveAllToOthers(&blocks_, &mover_, recorder_);
  }
  const Status status = mover_.Begin(launch.stream, known->ranges, known->access, known->kernel,
                                     /*tag=*/0, &known->uses);
  if (!status.ok()) memory_.driver().RecordBackgroundError(status);
  return status.ok();
}

void Tracer::NoteUnproven(const Submission& launch, Trust trust) {
  if (launch.kernel != nullptr) launch.kernel->unproven.fetch_add(1, std::memory_order_relaxed);
  bool read = false;  // It may be, and is not yet.
  // A replay of a recording knows what could be known, though memory suffices now.
  if (reading_ != nullptr && (mover_.tracking() || recorder_ != nullptr)) {
    const auto want = [&](const KernelCode& code) {
      reading_->Wants(code);
      read |= code.reading.load(std::memory_order_relaxed) == KernelCode::Reading::kAsked;
    };
    if (launch.kernel != nullptr) want(*launch.kernel);
    for (const KernelCode* const code : launch.unproven) want(*code);
  }
  if (read || trust != Trust::kUntried) return;
  if (mover_.tracking()) untried_.fetch_add(1, std::memory_order_relaxed);
}

uint64_t Tracer::launches_held_up() const {
  const bool by_trust = overlap_ == Overlap::kAuto || overlap_ == Overlap::kProven;
  const uint64_t untried = untried_.load(std::memory_order_relaxed);
  return by_trust && untried >= kUntriedTold ? untried : 0;
}

Beside Tracer::NoteLaunch(const Submission& launch, Trust trust) {
  const Trust level = std::min(trust, Trust::kProven);
  std::atomic<uint64_t>& launches = launches_by_trust_[static_cast<size_t>(level)];
  launches.fetch_add(1, std::memory_order_relaxed);
  if (launch.kernel != nullptr) launch.kernel->launches.fetch_add(1, std::memory_order_relaxed);
  if (trust < Trust::kProven) NoteUnproven(launch, trust);
  return BesideLaunch(overlap_, trust);
}

void Tracer::TellWhatIsKnown(uint64_t kernel, const Submission& launch, uint64_t rough_bytes) {
  // The user's own profile first: it counts more than what earlier runs have learned.
  const auto price =
      teacher_ == nullptr ? std::nullopt : teacher_->FirstSeen(kernel, launch.code, launch.shape);
  if (price.has_value()) {
    mover_.OfKernels(
        [&](Scheduler& scheduler) { scheduler.Teach(kernel, price->passes, price->resident_ns); });
  }
  // A recording has launches decoded while memory suffices, too. Then nothing is learned.
  if (learning_ != nullptr && mover_.tracking()) learning_->Launches(kernel, launch, rough_bytes);
}

bool Tracer::EnterDecoded(uint32_t call, const void* params) {
  if (recorder_ != nullptr) recorder_->Entering();
  Scratch& scratch = MyScratch();
  Submission& s = scratch.submission;
  decoder_.Name(call, params, &s);
  if (s.kind == Submission::Kind::kUnknown || s.incomplete) [[unlikely]] {
    GiveAllToOthers(&blocks_, &mover_, recorder_);
  }
  LaunchMemo::Known* known = nullptr;
  LaunchMemo::Grounds grounds;
  bool learns = false;
  if (Remembers(s)) {
    grounds = GroundsOf(s);
    known = scratch.memo.Find(s, grounds);
    if (known != nullptr && blocks_.InUse(known->blocks) && sets_.Repeat(known->again))
      return EnterKnown(s, known);
    learns = known != nullptr || scratch.memo.Wants();
  }
  decoder_.Scan(&s);
  NoteCopies(s, &scratch.extents);
  const bool launch = s.kind == Submission::Kind::kKernel || s.kind == Submission::Kind::kGraph;
  (launch ? launches_ : copies_).fetch_add(1, std::memory_order_relaxed);
  // Where nothing lives, packed objects may, and nothing tells when.
  bool stray = false;
  scratch.others.clear();
  scratch.blocks.clear();
  auto lives = [this, &scratch, &stray](DevicePtr p) {
    const Extent extent = scratch.extents.Find(memory_, p);
    stray |= extent.size == Bytes(0);
    return extent;
  };
  const auto allocation = [this, &s, &scratch, &lives, &stray](const Touch& touch) {
    Extent extent = lives(touch.ptr);
    // Of what it may only name it is not known whether it does.
    const bool named = touch.via <= Via::kTable && extent.size != Bytes(0);
    const Blocks::By by = !named                               ? Blocks::By::kNobody
                          : s.kind == Submission::Kind::kGraph ? Blocks::By::kGraph
                                                               : Blocks::By::kWork;
    const Blocks::Block block = blocks_.Find(extent.base, touch.ptr, by);
    // By the time of the same launch it may be handed out, or be given up.
    stray |= block.other || block.none;
    if (block.other) NoteOther(extent, &scratch.others);
    if (block.key != 0) scratch.blocks.push_back(block.key);
    // What a graph does is as it was captured, whoever was handed the memory since.
    if (s.kind == Submission::Kind::kGraph) return extent;
    extent.block = block.base;
    extent.block_size = block.size;
    // What a copy names it goes to.
    extent.past = block.past && touch.size == Bytes(0);
    return extent;
  };
  const Beside beside = launch ? NoteLaunch(s, s.trust) : Beside{.access = Access::kExact};
  // Where nothing moves beside it, a kernel may reach memory in whatever way. An audit asks what it
  // reaches beside all that it may touch.
  const bool wide = beside.moves() || audit_ != nullptr;
  bool encoded = false;
  // What is known to hold none holds none: every byte of it is the same, and all that lives.
  const bool may_hold = known == nullptr || known->encoded;
  // What is to be kept is looked for, though recording may have ended since it was asked for.
  if (launch && wide && may_hold && (learns || mover_.tracking() || recorder_ != nullptr)) {
    encoded = FindEncoded(&scratch.encoded, &scratch.extents, &s);
  }
  if (launch && !hidden_.empty()) {
    const HiddenPointers::Extent extent = [](void* context, DevicePtr p) {
      const Extent e = (*static_cast<decltype(lives)*>(context))(p);
      return e.base + e.size;
    };
    hidden_.Follow(&s, extent, &lives);
  }
  if (audit_ != nullptr) {
    const bool arrays = s.kind == Submission::Kind::kKernel && audit_->ByArrays();
    s.trust = arrays ? Trust::kArrays : Trust::kProven;
  }
  sets_.Infer(s, wide || recorder_ != nullptr, allocation, &scratch.inferred,
              learns ? &scratch.again : nullptr);
  GiveToOthers(scratch.others, &blocks_, &mover_, recorder_);
  touches_.fetch_add(s.touches.size(), std::memory_order_relaxed);

  if (audit_ != nullptr) return audit_->Enter(s, scratch.inferred);

  Access access = beside.access;
  if (s.incomplete) access = Access::kPartial;
  if (s.kind == Submission::Kind::kUnknown) access = Access::kUnknown;
  uint64_t tag = 0;
  if (recorder_ != nullptr) {
    const bool complete = !s.incomplete && s.kind != Submission::Kind::kUnknown;
    tag = recorder_->Submitting(s, scratch.inferred, complete);
    // A replay may overlap where this run does not.
    if (!beside.moves())
      std::erase_if(scratch.inferred, [](const InferredRange& r) { return !r.likely; });
  }
  if (launch && access != Access::kExact && scratch.inferred.empty()) {
    launches_unknown_.fetch_add(1, std::memory_order_relaxed);
    GiveAllToOthers(&blocks_, &mover_, recorder_);
  }
  if (learns) {
    known = Learn(s, grounds, stray ? nullptr : &scratch.again, known, &scratch.memo);
    if (known != nullptr) {
      known->access = access;
      known->trust = s.trust;
      known->encoded = encoded;
      known->blocks = scratch.blocks;
    }
  }
  // What touches none of our memory is none of our business.
  if (access == Access::kExact && scratch.inferred.empty()) {
    if (known != nullptr) known->NameRanges({});
    if (tag != 0) recorder_->Starting();
    return tag != 0;
  }

  scratch.ranges.clear();
  // The same code over about as much memory is taken for the same work: where an array ends is a
  // guess, and what follows it in its allocation differs from launch to launch. So it is in about
  // as many blocks: a grid may follow from the data, and then it is another each time.
  uint64_t kernel = 0;
  if (launch && s.code != nullptr) {
    Bytes bytes;
    for (const InferredRange& r : scratch.inferred) bytes += r.likely ? r.size : Bytes(0);
    kernel = absl::HashOf(s.code, s.rough_shape, RoughSize(bytes)) | 1;
    if (s.kind == Submission::Kind::kKernel) TellWhatIsKnown(kernel, s, RoughSize(bytes));
  }
  for (const InferredRange& r : scratch.inferred) {
    scratch.ranges.push_back({r.ptr,
                              r.size,
                              {.slot = r.slot,
                               .write = r.write,
                               .kernels_only = launch,
                               // Nothing is fetched for a copy, but what holds nothing, nor for
                               // what is merely possible.
                               .once = !r.likely || (r.exact && !launch),
                               .possible = !r.likely,
                               .mapped_only = r.settled && beside.beyond_ends,
                               .guessed = !r.exact,
                               .waited = s.waits && !launch,
                               .told = r.told}});
  }
  if (known != nullptr) {
    known->kernel = kernel;
    known->NameRanges(scratch.ranges);
  }
  const Status status = mover_.Begin(s.stream, scratch.ranges, access, kernel, tag,
                                     known != nullptr ? &known->uses : nullptr);
  if (known != nullptr) scratch.memo.Count(known);
  // The call is made all the same; nobody is there to be told but who asks for background errors.
  if (!status.ok()) memory_.driver().RecordBackgroundError(status);
  if (tag != 0) recorder_->Starting();
  return status.ok() || tag != 0;
}

void Tracer::Exit(CUstream stream) {
  Leave(stream);
  Uncancellable::EndHold();
}

void Tracer::Leave(CUstream stream) {
  if (audit_ != nullptr) audit_->Exit(stream);
  if (recorder_ != nullptr) {
    recorder_->Submitted();
    // Recorded, and no business of the mover's.
    if (!Mover::InScope()) return;
  }
  memory_.driver().RecordBackgroundError(mover_.End(stream));
}

void Tracer::BeginWait(uint32_t call, const void* params) {
  if (Decoder::WhatFor(call) == WaitsFor::kStream) {
    mover_.AwaitRelease(Decoder::StreamOf(call, params));
  }
  mover_.ThreadWaits();
  if (recorder_ != nullptr) recorder_->Waiting();
}

void Tracer::EndWait(uint32_t call, const void* params) {
  mover_.ThreadGoesOn();
  if (recorder_ == nullptr) return;
  const WaitsFor what = Decoder::WhatFor(call);
  recorder_->Waited(what, what == WaitsFor::kStream ? Decoder::StreamOf(call, params) : CUstream());
}

GraphLaunch Tracer::HowToLaunch(CUgraphExec exec) {
  if (graph_launch_ == GraphLaunch::kWhole) return GraphLaunch::kWhole;
  const bool may = GraphSets(&decoder_, &memory_, &sets_, &hidden_).MayBeCut(exec);
  return may ? graph_launch_ : GraphLaunch::kWhole;
}

std::vector<size_t> Tracer::CutsOf(CUgraphExec exec, absl::Span<const CUgraphNode> nodes) {
  // An audit says what graphs take as the program launches them.
  if (!mover_.tracking() || audit_ != nullptr) return {};
  return GraphSets(&decoder_, &memory_, &sets_, &hidden_).Cut(exec, nodes);
}

void Tracer::NoteSegments(size_t segments) {
  graphs_cut_.fetch_add(1, std::memory_order_relaxed);
  segments_.fetch_add(segments, std::memory_order_relaxed);
}

void Tracer::StreamGoes(CUstream stream) {
  memory_.driver().RecordBackgroundError(mover_.Forget(stream));
}

void Tracer::Freed(DevicePtr base, Bytes size, bool unmapped) {
  sets_.Forget(base);
  hidden_.Forget(base, size);
  blocks_.Gone(base, size, unmapped);
}

void Tracer::BudgetIs(Bytes budget) {
  sets_.PoolsAreWholeUpTo(Bytes(budget.value / kPoolsOfBudget));
}

TracerStatistics Tracer::statistics() const {
  TracerStatistics s{launches_.load(std::memory_order_relaxed),
                     copies_.load(std::memory_order_relaxed),
                     launches_unknown_.load(std::memory_order_relaxed),
                     launches_encoded_.load(std::memory_order_relaxed),
                     {},
                     launches_known_.load(std::memory_order_relaxed),
                     touches_.load(std::memory_order_relaxed),
                     graphs_cut_.load(std::memory_order_relaxed),
                     segments_.load(std::memory_order_relaxed),
                     Bytes(scanned_.load(std::memory_order_relaxed))};
  for (size_t i = 0; i < s.launches_by_trust.size(); ++i) {
    s.launches_by_trust[i] = launches_by_trust_[i].load(std::memory_order_relaxed);
  }
  return s;
}

}  // namespace vramspan
