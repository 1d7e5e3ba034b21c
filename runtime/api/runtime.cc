#include "runtime/api/runtime.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <optional>
#include <string>

#include "runtime/api/price_file.h"
#include "runtime/api/spill_text.h"
#include "runtime/api/statistics_text.h"
#include "runtime/api/tracing.h"
#include "runtime/backing/budget.h"
#include "runtime/backing/host_limits.h"
#include "runtime/backing/host_place.h"
#include "runtime/backing/stream_waits.h"
#include "runtime/base/clean_text.h"
#include "runtime/base/log.h"
#include "runtime/base/uncancellable.h"
#include "runtime/base/variables.h"
#include "runtime/driver/checker.h"
#include "runtime/scheduler/told_owner.h"

namespace vramspan {
namespace {

// A thread that is in a scope for longer waits for something, or it died there.
constexpr std::chrono::seconds kScopePatience{5};

// A setting as the program gave it, else as the environment has it. An empty variable is as good as
// none; an empty field of the program's is a mistake.
struct Setting {
  const char* name;
  std::optional<std::string> text;

  Setting(const char* field, const char* environment) : name(environment) {
    const char* variable = std::getenv(environment);
    if (field != nullptr) {
      text = field;
    } else if (variable != nullptr && *variable != '\0') {
      text = variable;
    }
  }
  // Puts the setting's name before what was wrong with its value.
  Status Error(const Status& status) const {
    return Status(status.code(), absl::StrCat(name, ": ", CleanText(status.message(), 1024)));
  }
};

// The user's wish, of which the program knows nothing: its run matters more.
void TellUnrecorded(const Setting& setting, const Status& why) {
  Log(LogLevel::kError, absl::StrCat(setting.Error(why).message(), "; nothing is recorded there"));
}

StatusOr<int> ParseChunk(const Setting& setting) {
  if (!setting.text.has_value() || setting.text == "auto") return 0;
  const StatusOr<Bytes> size = ParseSize(*setting.text);
  if (!size.ok() || !std::has_single_bit(size->value) || *size < ChunkBytes(kMinChunkLog2) ||
      *size > ChunkBytes(kMaxChunkLog2)) {
    return absl::InvalidArgumentError(
        absl::StrCat(setting.name, ": '", Repeated(*setting.text),
                     "' is not a chunk size; use auto, 2MiB, 4MiB, 8MiB, 16MiB, 32MiB or 64MiB"));
  }
  return std::countr_zero(size->value);
}

StatusOr<Bytes> DeviceBudget(const Setting& setting, Bytes total, Bytes free) {
  if (!setting.text.has_value()) return DefaultDeviceBudget(total, free);
  StatusOr<Bytes> budget = ParseBudget(*setting.text, total);
  if (!budget.ok()) return setting.Error(budget.status());
  if (*budget > total) {
    return absl::InvalidArgumentError(absl::StrCat(setting.name, ": '", Repeated(*setting.text),
                                                   "' is more than the device's ",
                                                   total.value >> 20, " MiB"));
  }
  if (*budget < kGranularity) {
    return absl::InvalidArgumentError(absl::StrCat(setting.name, ": '", Repeated(*setting.text),
                                                   "' is less than one chunk; give at least 2MiB"));
  }
  return *budget;
}

Status CheckHostBudget(Bytes budget, const HostLimits& limits) {
  if (budget <= limits.total) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a host budget of ", budget.value,
                                                 " bytes is more than the machine's ",
                                                 limits.total.value >> 20, " MiB"));
}

StatusOr<Bytes> HostBudget(const Setting& setting) {
  VS_ASSIGN_OR_RETURN(const HostLimits limits, ReadHostLimits());
  if (!setting.text.has_value()) return DefaultHostBudget(limits);
  StatusOr<Bytes> budget = ParseBudget(*setting.text, limits.total);
  if (!budget.ok()) return setting.Error(budget.status());
  const Status fits = CheckHostBudget(*budget, limits);
  if (!fits.ok()) return setting.Error(fits);
  return *budget;
}

// What `vramspan info` measured of this device, where it has.
std::optional<Prices> MeasuredPrices(const Driver& driver, const Capabilities& device) {
  const StatusOr<std::string> path = CacheFile(device.uuid, ".prices");
  const StatusOr<Prices> prices =
      path.ok() ? ReadPrices(*path, driver.version()) : StatusOr<Prices>(path.status());
  if (prices.ok()) return *prices;
  if (!absl::IsNotFound(prices.status())) {
    Log(LogLevel::kInfo,
        absl::StrCat("the runtime decides by built-in costs: ", prices.status().message()));
  }
  return std::nullopt;
}

}  // namespace

Status Runtime::TakeContext(int device) {
  VS_RETURN_IF_ERROR(Check((*driver_)->CtxGetCurrent(&context_), "cuCtxGetCurrent"));
  if (context_ != nullptr) {
    return Check((*driver_)->CtxGetDevice(&device_), "cuCtxGetDevice");
  }
  int count = 0;
  VS_RETURN_IF_ERROR(Check((*driver_)->DeviceGetCount(&count), "cuDeviceGetCount"));
  if (device < 0 || device >= count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no device ", device, "; this machine has ", count, ", numbered from 0"));
  }
  VS_RETURN_IF_ERROR(Check((*driver_)->DeviceGet(&device_, device), "cuDeviceGet"));
  VS_RETURN_IF_ERROR(
      Check((*driver_)->DevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain"));
  retained_ = true;
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<Runtime>> Runtime::Create(const vramspanConfig* given) {
  vramspanConfig config{};
  if (given != nullptr) {
    if (given->struct_size != sizeof(vramspanConfig)) {
      return absl::InvalidArgumentError(
          absl::StrCat("vramspanConfig.struct_size is ", given->struct_size,
                       "; set it to sizeof(vramspanConfig), ", sizeof(vramspanConfig)));
    }
    config = *given;
  }
  constexpr uint32_t kFlags =
      VRAMSPAN_CONFIG_QUIET | VRAMSPAN_CONFIG_NO_HOST | VRAMSPAN_CONFIG_SHARE_CONTEXT;
  if ((config.flags & ~kFlags) != 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("vramspanConfig.flags has unknown bits: 0x%x; use VRAMSPAN_CONFIG_* alone",
                        config.flags & ~kFlags));
  }
  if ((config.flags & VRAMSPAN_CONFIG_QUIET) == 0) TellUnknownVariables();
  const Setting device_memory(config.device_memory, "VRAMSPAN_DEVICE_MEMORY");
  const Setting host_memory(config.host_memory, "VRAMSPAN_HOST_MEMORY");
  const Setting chunk(config.chunk, "VRAMSPAN_CHUNK");
  const Setting policy_name(config.policy, "VRAMSPAN_POLICY");
  const Setting arena(config.arena, "VRAMSPAN_ARENA");
  const Setting tracer(config.tracer, "VRAMSPAN_TRACER");
  const Setting overlap_name(config.overlap, "VRAMSPAN_OVERLAP");
  const Setting record(config.record, "VRAMSPAN_RECORD");

  std::unique_ptr<Runtime> r(new Runtime());
  MemoryOptions memory;
  VS_ASSIGN_OR_RETURN(memory.chunk_log2, ParseChunk(chunk));
  if (arena.text.has_value()) {
    StatusOr<Bytes> size = ParseSize(*arena.text);
    if (!size.ok()) return arena.Error(size.status());
    if (*size < ChunkBytes(kMaxChunkLog2)) {
      return arena.Error(absl::InvalidArgumentError(absl::StrCat(
          "'", Repeated(*arena.text), "' is less than the largest chunk; give at least 64MiB")));
    }
    memory.arena = RoundUp(*size, ChunkBytes(kMaxChunkLog2));
  }
  StatusOr<std::unique_ptr<EvictionPolicy>> policy = MakePolicy(policy_name.text.value_or("cost"));
  if (!policy.ok()) return policy_name.Error(policy.status());
  const StatusOr<LaunchSource> source = ParseLaunchSource(tracer.text.value_or("auto"));
  if (!source.ok()) return tracer.Error(source.status());
  const StatusOr<Overlap> overlap =
      ParseOverlap(overlap_name.text.value_or(OverlapName(kDefaultOverlap)));
  if (!overlap.ok()) return overlap_name.Error(overlap.status());

  VS_ASSIGN_OR_RETURN(r->driver_,
                      Driver::Load(config.driver != nullptr ? config.driver : std::string()));
  VS_RETURN_IF_ERROR(r->TakeContext(config.device));
  VS_ASSIGN_OR_RETURN(Capabilities device, ReadCapabilities(*r->driver_, r->device_));
  const Setting tuned(nullptr, "VRAMSPAN_PROFILE_DEVICE");
  if (tuned.text.has_value() && *tuned.text != device.uuid) {
    Log(LogLevel::kWarning, absl::StrCat("the profile is stale: it was tuned for device ",
                                         Repeated(*tuned.text), ", and this is ", device.uuid, " (",
                                         device.name, "); record and tune on this device"));
  }
  VS_RETURN_IF_ERROR(CanWork(*r->driver_, device));
  ShortageHelp help;
  {
    ScopedContext current(*r->driver_, r->context_);
    VS_RETURN_IF_ERROR(current.status());
    size_t free = 0, total = 0;
    VS_RETURN_IF_ERROR(Check((*r->driver_)->MemGetInfo(&free, &total), "cuMemGetInfo"));
    r->total_ = Bytes(total);
    VS_ASSIGN_OR_RETURN(memory.device_budget,
                        DeviceBudget(device_memory, Bytes(total), Bytes(free)));
    const Bytes usual = DefaultDeviceBudget(Bytes(total), Bytes(free));
    help.spare = usual > memory.device_budget ? usual - memory.device_budget : Bytes(0);
  }
  VS_ASSIGN_OR_RETURN(memory.host_budget, HostBudget(host_memory));
  memory.use_host = (config.flags & VRAMSPAN_CONFIG_NO_HOST) == 0;
  if (memory.use_host) VS_RETURN_IF_ERROR(FindHostPlace(*r->driver_, r->context_, &device));
  if (!device.host_refused.empty()) {
    Log(LogLevel::kInfo, absl::StrCat("host memory comes from ", PlaceText(device.host),
                                      ", because of ", device.host_refused));
  }
  // Where the driver has 64-bit waits, it has those of 32 bits, which are used.
  if (!device.wide_stream_ops) VS_RETURN_IF_ERROR(TryStreamWaits(*r->driver_, r->context_, device));
  VS_RETURN_IF_ERROR(r->JoinBroker(device.uuid, device_memory.text.has_value(),
                                   host_memory.text.has_value(), &memory));
  VS_RETURN_IF_ERROR(r->ShareByClaims(device.uuid, device_memory.text.has_value(), &memory));
  memory.ordinal = device.ordinal;
  memory.host_place = device.host;
  memory.context = r->context_;
  memory.announce = (config.flags & VRAMSPAN_CONFIG_QUIET) == 0;
  const std::optional<std::string> audited = Audit::Folder();
  if (audited.has_value() && *source == LaunchSource::kOff) {
    return Audit::Refuse(*audited,
                         tracer.Error(absl::FailedPreconditionError(
                             "an audit needs traced launches, but the program asks for 'off'")));
  }
  bool traced = false;
  if (*source != LaunchSource::kOff) {
    const Status started = Tracing::Get().Start(r->driver_, *source);
    traced = started.ok() && Tracing::Get().sees();
    if (!traced && audited.has_value()) return Audit::Refuse(*audited, tracer.Error(started));
    if (!traced && *source != LaunchSource::kAuto) return tracer.Error(started);
    if (!traced) {
      Log(LogLevel::kInfo,
          absl::StrCat("launches are not traced, so only memory of declared work moves: ",
                       started.message()));
    }
  }
  memory.traced = traced;
  const std::optional<Prices> measured = MeasuredPrices(*r->driver_, device);
  const Prices prices = measured.value_or(Prices{});
  r->prices_ = prices;
  help.measured = measured.has_value();
  help.brokered = r->lease_ != nullptr;
  memory.shortage_note = ShortageNote(prices, help);
  if (record.text.has_value()) {
    trace::Header header;
    header.device = device.name;
    header.device_uuid = device.uuid;
    header.device_memory = r->total_;
    header.device_budget = memory.device_budget;
    header.host_budget = memory.use_host ? memory.host_budget : Bytes(0);
    header.policy = policy_name.text.value_or("cost");
    header.overlap = traced ? OverlapName(*overlap) : "all";
    header.chunk_log2 = memory.chunk_log2;
    header.waits = traced;
    header.possible = traced;
    header.trust = traced;
    header.serve_gb_per_s = prices.serve_gb_per_s;
    header.move_gb_per_s = prices.move_gb_per_s;
    header.device_gb_per_s = prices.device_gb_per_s;
    const Setting times(nullptr, "VRAMSPAN_RECORD_TIMES");
    const auto timed = Recorder::ParseTimes(times.text.value_or("some"));
    if (!timed.ok()) return times.Error(timed.status());
    auto recorder = Recorder::Open(*record.text, *timed, r->driver_, r->context_, header);
    if (recorder.ok()) {
      r->recorder_ = *std::move(recorder);
    } else if (config.record != nullptr) {
      return record.Error(recorder.status());
    } else {
      TellUnrecorded(record, recorder.status());
    }
  }
  const Setting graphs(nullptr, "VRAMSPAN_GRAPHS");
  const auto graph_launch = ParseGraphLaunch(graphs.text.value_or("auto"));
  if (!graph_launch.ok()) return graphs.Error(graph_launch.status());
  MoverOptions mover;
  const Setting events(nullptr, "VRAMSPAN_RECORD_EVENTS");
  if (events.text.has_value()) {
    auto recording = EventRecording::Open(*events.text);
    if (recording.ok()) {
      r->events_ = *std::move(recording);
      mover.sink = r->events_->sink();
      auto told = std::make_unique<ToldPolicy>(*std::move(policy), mover.sink);
      mover.policy = told->decides();
      policy = std::move(told);
    } else {
      TellUnrecorded(events, recording.status());
    }
  }
  const Setting keep(nullptr, "VRAMSPAN_KEEP");
  const StatusOr<std::vector<Pin>> pins = ParsePins(keep.text.value_or(""));
  if (!pins.ok()) return keep.Error(pins.status());
  const Setting kernels(nullptr, "VRAMSPAN_KERNELS");
  const auto taught = ParseKernelPrices(kernels.text.value_or(""));
  if (!taught.ok()) return kernels.Error(taught.status());
  if (!taught->empty()) r->teacher_ = std::make_unique<KernelTeacher>(*taught, r->driver_);
  const Setting learned(nullptr, kLearnedVariable);
  const StatusOr<bool> learns = ParseLearns(learned.text.value_or("off"));
  if (!learns.ok()) return learned.Error(learns.status());
  memory.listener = r->recorder_.get();
  if (!pins->empty()) {
    r->profile_pins_ = std::make_unique<ProfilePins>(*pins, memory.device_budget, memory.listener);
    memory.listener = r->profile_pins_.get();
  }
  VS_ASSIGN_OR_RETURN(r->memory_, Memory::Create(r->driver_, memory, *std::move(policy)));
  if (r->profile_pins_ != nullptr) r->profile_pins_->SetMemory(r->memory_.get());
  mover.listener = r->recorder_.get();
  const Checker checker = CheckerBeside();
  if (checker != Checker::kNone && memory.announce) {
    Log(LogLevel::kWarning,
        absl::StrCat("beside ", CheckerName(checker),
                     " launches wait in their threads while memory moves, which is slow; what the "
                     "tool reports is the program's own"));
  }
  mover.own_context =
      (config.flags & VRAMSPAN_CONFIG_SHARE_CONTEXT) == 0 && checker == Checker::kNone;
  if (config.deadline_us != 0) mover.deadline = std::chrono::microseconds(config.deadline_us);
  mover.traced = traced;
  if (traced) mover.others = &Tracing::Passers;
  // What was submitted before may wait for the thread that is here.
  mover.fingerprints = !Tracing::unseen();
  mover.idle_fetches = !audited.has_value();
  mover.prices = prices;
  mover.room = r->lease_.get();
  mover.showing = &r->showing_;
  VS_ASSIGN_OR_RETURN(r->mover_, Mover::Start(r->memory_.get(), mover));
  if (*learns && traced && !audited.has_value()) {
    r->learning_ = MakeLearning(
        {.device = device.name, .ordinal = device.ordinal, .driver = r->driver_->version()});
  }
  if (r->learning_ != nullptr) r->learning_->Begin(r->mover_.get());
  if (r->recorder_ != nullptr && traced && mover.own_context && mover.fingerprints) {
    r->recorder_->WatchContents(r->context_, r->memory_.get(), r->mover_.get());
  }
  if (audited.has_value()) {
    VS_ASSIGN_OR_RETURN(r->audit_, Audit::Open(*audited, *r->driver_, r->device_, r->memory_.get(),
                                               r->mover_.get()));
  }
  if (traced) VS_RETURN_IF_ERROR(r->StartTracer(*overlap, *graph_launch));
  if (r->lease_ != nullptr) {
    VS_RETURN_IF_ERROR(r->lease_->Drive(r->memory_.get(), r->mover_.get(),
                                        [runtime = r.get()](const Budgets& budgets) {
                                          const DevicePool& pool = runtime->memory_->device_pool();
                                          if (pool.budget() != budgets.device)
                                            runtime->ApplyDeviceBudget(budgets.device);
                                          runtime->memory_->device_pool().SetBudget(budgets.device);
                                          runtime->memory_->host_pool().SetBudget(budgets.host);
                                        }));
  }
  if (r->room_ != nullptr) {
    r->room_->SetListener([runtime = r.get()] { runtime->TellDeviceBudget(); });
  }
  VS_RETURN_IF_ERROR(
      r->ShowLive({.uuid = device.uuid,
                   .name = device.name,
                   .ordinal = device.ordinal,
                   .move_gb_per_s = prices.move_gb_per_s,
                   .serve_gb_per_s = prices.serve_gb_per_s,
                   .flags = measured.has_value() ? LiveRecord::kPricesMeasured : 0}));
  return r;
}

Status Runtime::StartTracer(Overlap overlap, GraphLaunch graphs) {
  Tracing& tracing = Tracing::Get();
  tracer_ = std::make_unique<Tracer>(tracing.decoder(), memory_.get(), mover_.get(), overlap);
  tracer_->SetAudit(audit_.get());
  tracer_->SetRecorder(recorder_.get());
  tracer_->SetTeacher(teacher_.get());
  tracer_->SetLearning(learning_.get());
  // With the other settings nothing follows from it.
  if (audit_ == nullptr && (overlap == Overlap::kAuto || overlap == Overlap::kProven)) {
    tracer_->SetReading(CodeReading::Get(*driver_));
  }
  tracer_->SetGraphLaunch(graphs);
  const PageMap& map = memory_->page_map();
  const Status added = tracing.Add(context_, tracer_.get(), map.base(), map.size());
  if (!added.ok()) tracer_.reset();
  return added;
}

Status Runtime::End(std::unique_ptr<Runtime>* runtime) {
  Runtime& r = **runtime;
  r.StopHolding();
  const bool left =
      r.tracer_ == nullptr || Tracing::Get().Remove(r.tracer_.get(), r.memory_->page_map().base());
  if (left && r.mover_->AwaitScopes(kScopePatience)) {
    runtime->reset();
    return absl::OkStatus();
  }
  r.mover_->StopMoving();
  return absl::DeadlineExceededError(
      left ? "a work scope is open; end it, then try again"
           : "a thread is inside a call that submits work; try again when it has returned");
}

void Runtime::TellSpill(const vramspanStatistics& statistics) const {
  // An audit moves memory for its own sake.
  if (audit_ != nullptr) return;
  const auto since = memory_->supply().short_since();
  if (!since.has_value()) return;
  SpillFacts facts{.short_for = std::chrono::steady_clock::now() - *since,
                   .most_on_host = memory_->supply().most_on_host()};
  if (tracer_ != nullptr) {
    facts.held_up = tracer_->launches_held_up();
    facts.read = tracer_->reads_code();
  }
  const std::string text = SpillText(statistics, facts, prices_);
  memory_->supply().TellShortageAtEnd(/*was_used=*/!text.empty());
  if (!text.empty()) Log(LogLevel::kWarning, text);
}

Runtime::~Runtime() {
  // One that was never whole has nothing to tell.
  if (mover_ != nullptr) {
    const vramspanStatistics statistics = Statistics();
    TellSpill(statistics);
    driver_->RecordBackgroundError(
        WriteStatistics(statistics, {.kernels = Tracing::Kernels(kKernelsTold)}));
  }
  showing_.Use(nullptr);
  live_.reset();
  if (tracer_ != nullptr) Tracing::Get().Remove(tracer_.get(), memory_->page_map().base());
  audit_.reset();
  learning_.reset();
  if (lease_ != nullptr) lease_->Rest();
  if (room_ != nullptr) room_->SetListener(nullptr);
  mover_.reset();
  // What may still run without having been declared must not lose its memory under way.
  if (memory_ != nullptr) driver_->RecordBackgroundError(memory_->drains().Drain());
  if (recorder_ != nullptr) recorder_->StopWatching();
  memory_.reset();
  room_.reset();
  lease_.reset();
  profile_pins_.reset();
  recorder_.reset();
  events_.reset();
  if (retained_) {
    driver_->RecordBackgroundError(
        Check((*driver_)->DevicePrimaryCtxRelease(device_), "cuDevicePrimaryCtxRelease"));
  }
}

void Runtime::EndRecordedMoves() {
  if (recorder_ == nullptr || mover_->StopMoving()) return;
  Log(LogLevel::kInfo, "the process ends while memory moves, so the last moves are not recorded");
}

StatusOr<DevicePtr> Runtime::Allocate(Bytes size) {
  StatusOr<DevicePtr> p = WithLease(size, [&] { return memory_->Allocate(size); });
  if (recorder_ != nullptr && p.ok()) recorder_->Allocated(*p, size);
  if (profile_pins_ != nullptr && p.ok()) profile_pins_->Allocated(*p, size);
  memory_->supply().TellShortage();
  if (size > SmallObjects::kMaxSmall && memory_->supply().filling()) {
    memory_->supply().PrepareHost();
    mover_->WakeAndStartTracking();
  }
  return p;
}

Status Runtime::Free(DevicePtr ptr, bool idle) {
  if (tracer_ != nullptr || recorder_ != nullptr || profile_pins_ != nullptr) {
    const StatusOr<Allocation> a = memory_->Find(ptr);
    const bool found = a.ok() && a->base == ptr;
    if (found && tracer_ != nullptr) tracer_->Freed(ptr, a->requested);
    if (found && recorder_ != nullptr) recorder_->Freeing(ptr);
    if (found && profile_pins_ != nullptr) profile_pins_->Freeing(ptr);
  }
  const Status status = memory_->Free(ptr, idle);
  showing_.Change();
  if (memory_->has_dying() || (tracer_ != nullptr && mover_->tracking())) mover_->Wake();
  return status;
}

Status Runtime::BeginWork(CUstream stream, absl::Span<const WorkRange> ranges, Access access) {
  if (recorder_ == nullptr && tracer_ == nullptr) [[likely]]
    return mover_->Begin(stream, ranges, access);
  const Uncancellable now;
  const uint64_t tag = recorder_ == nullptr ? 0 : recorder_->Declaring(stream, ranges, access);
  mover_->placements().ScopeOpens();
  const Status begun = mover_->Begin(stream, ranges, access, 0, tag);
  if (!begun.ok()) mover_->placements().ScopeCloses();
  if (begun.ok() && tag != 0) recorder_->Starting();
  return begun;
}

Status Runtime::EndWork(CUstream stream) {
  if (recorder_ == nullptr && tracer_ == nullptr) [[likely]]
    return mover_->End(stream);
  const Uncancellable now;
  if (recorder_ != nullptr) recorder_->Submitted();
  const bool open = Mover::InScope();
  const Status ended = mover_->End(stream);
  if (open && !Mover::InScope()) mover_->placements().ScopeCloses();
  return ended;
}

Status Runtime::Advise(DevicePtr ptr, Bytes size, vramspanAdvice advice) {
  MutexLock lock(memory_->mu);
  // The analysis does not see the lock from inside a lambda.
  const auto advise = [&](ChunkIndex index, Chunk& c) VS_NO_THREAD_SAFETY_ANALYSIS {
    memory_->chunks().NoteChange(index);
    c.read_mostly = advice == VRAMSPAN_ADVISE_READ_MOSTLY;
    const bool in_place =
        advice == VRAMSPAN_ADVISE_PREFER_HOST || advice == VRAMSPAN_ADVISE_STREAMED_ONCE;
    memory_->policy().Advise(index, /*leaves_first=*/in_place, c.on_device);
    switch (advice) {
      case VRAMSPAN_ADVISE_KEEP_ON_DEVICE:
        c.advice = Advice::kKeepOnDevice;
        break;
      case VRAMSPAN_ADVISE_PREFER_HOST:
        c.advice = Advice::kPreferHost;
        break;
      case VRAMSPAN_ADVISE_STREAMED_ONCE:
        c.advice = Advice::kStreamedOnce;
        break;
      case VRAMSPAN_ADVISE_NONE:
      case VRAMSPAN_ADVISE_READ_MOSTLY:
        c.advice = Advice::kNone;
        break;
    }
  };
  if (memory_->ForEachChunk(ptr, size, advise)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "cannot advise: 0x%x does not lie in a live allocation of this runtime", ptr.value));
}

Status Runtime::SetDeviceBudget(Bytes budget, bool given) {
  const Bytes usable(budget.value & ~(kGranularity.value - 1));
  if (usable.value == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a device budget of ", budget.value, " bytes is less than one chunk; give at least 2 MiB"));
  }
  if (budget > total_) {
    return absl::InvalidArgumentError(absl::StrCat("a device budget of ", budget.value,
                                                   " bytes is more than the device's ",
                                                   total_.value >> 20, " MiB"));
  }
  if (lease_ != nullptr) {
    lease_->SetCeilings(usable, std::nullopt);
  } else if (room_ != nullptr) {
    if (given) {
      room_->Give(usable);
    } else {
      room_->Limit(usable);
    }
    TellDeviceBudget();
  } else {
    ApplyDeviceBudget(usable);
  }
  return absl::OkStatus();
}

Bytes Runtime::DeviceCeiling() const {
  return room_ != nullptr ? room_->ceiling() : memory_->device_pool().budget();
}

void Runtime::ApplyDeviceBudget(Bytes budget) {
  memory_->device_pool().SetBudget(budget);
  TellDeviceBudget();
}

void Runtime::TellDeviceBudget() {
  {
    MutexLock lock(telling_);
    // Another change may have overtaken the one that this is for.
    const Bytes budget = memory_->device_pool().budget();
    if (recorder_ != nullptr) recorder_->BudgetIs(budget);
    if (profile_pins_ != nullptr) profile_pins_->BudgetIs(budget);
    if (tracer_ != nullptr) tracer_->BudgetIs(budget);
  }
  if (memory_->supply().filling()) memory_->supply().PrepareHost();
  showing_.Change();
  mover_->Wake();
}

Status Runtime::SetHostBudget(Bytes budget) {
  VS_ASSIGN_OR_RETURN(const HostLimits limits, ReadHostLimits());
  VS_RETURN_IF_ERROR(CheckHostBudget(budget, limits));
  if (lease_ == nullptr) {
    memory_->host_pool().SetBudget(budget);
  } else {
    lease_->SetCeilings(std::nullopt, budget);
  }
  return absl::OkStatus();
}

StatusOr<vramspanResidency> Runtime::Residency(DevicePtr ptr, Bytes size) {
  const auto not_ours = [ptr] {
    return absl::InvalidArgumentError(
        absl::StrFormat("0x%x does not lie in a live allocation of this runtime", ptr.value));
  };
  const StatusOr<Allocation> a = memory_->Find(ptr);
  if (!a.ok()) return not_ours();
  size = std::min(size, a->requested - (ptr - a->base));
  vramspanResidency r{};
  MutexLock lock(memory_->mu);
  const uint64_t end = ptr.value + size.value;
  const bool found = memory_->ForEachChunk(ptr, size, [&](ChunkIndex, Chunk& c) {
    const uint64_t from = std::max(ptr.value, c.base.value);
    const uint64_t to = std::min(end, (c.base + c.size()).value);
    const uint64_t bytes = to > from ? to - from : 0;
    (c.on_device ? r.device_bytes : r.host_bytes) += bytes;
    if (c.state == ChunkState::kPinned) r.pinned_bytes += bytes;
    if (c.state == ChunkState::kDeviceTwin) r.twin_bytes += bytes;
  });
  if (found) return r;
  return not_ours();
}

vramspanStatistics Runtime::Statistics() {
  vramspanStatistics s{};
  s.struct_size = sizeof(s);
  const DevicePool& device = memory_->device_pool();
  const HostPool& host = memory_->host_pool();
  s.device_budget = device.budget().value;
  s.device_used = device.used().value;
  s.device_cached = device.cached().value;
  s.host_budget = host.budget().value;
  s.host_used = host.used().value;
  s.host_cached = host.cached().value;
  const MemoryCounts counts = memory_->counts();
  s.allocations = counts.allocations;
  s.allocated_bytes = counts.allocated.value;
  s.peak_allocated_bytes = counts.peak_allocated.value;
  s.chunks = counts.chunks;
  const MoverStatistics m = mover_->statistics();
  s.works = m.works;
  s.works_held = m.works_held;
  s.works_in_place = m.works_in_place;
  s.deadlines = m.deadlines;
  s.bytes_in = m.bytes_in.value;
  s.bytes_out = m.bytes_out.value;
  s.bytes_out_clean = m.bytes_out_clean.value;
  s.fetches = m.fetches;
  s.evictions = m.evictions;
  s.remaps = m.remaps;
  s.moves_failed = m.moves_failed;
  s.hold_ns = m.hold_ns;
  s.copy_in_ns = m.copy_in_ns;
  s.copy_out_ns = m.copy_out_ns;
  s.vmm_ns = m.vmm_ns;
  s.unsettled_streams = m.unsettled_streams;
  s.rests = m.rests;
  if (tracer_ != nullptr) {
    const TracerStatistics t = tracer_->statistics();
    s.launches = t.launches;
    s.copies = t.copies;
    s.launches_unknown = t.launches_unknown;
    s.launches_encoded = t.launches_encoded;
    s.launches_untried = t.launches_by_trust[static_cast<size_t>(Trust::kUntried)];
    s.launches_plausible = t.launches_by_trust[static_cast<size_t>(Trust::kPlausible)];
    s.launches_proven = t.launches_by_trust[static_cast<size_t>(Trust::kProven)];
    s.launches_known = t.launches_known;
    s.graphs_cut = t.graphs_cut;
    s.segments = t.segments;
    s.touches = t.touches;
    s.bytes_scanned = t.scanned.value;
  }
  s.bytes_in_place = m.bytes_in_place.value;
  s.trials = m.trials;
  s.returned = m.returned;
  s.forecast_hits = m.forecast_hits;
  s.forecast_misses = m.forecast_misses;
  s.stall_drain_ns = m.stall_drain_ns;
  s.stall_copy_ns = m.stall_copy_ns;
  s.stall_vmm_ns = m.stall_vmm_ns;
  s.fetches_unused = m.fetches_unused;
  if (lease_ != nullptr) {
    const LeaseNumbers lease = lease_->numbers();
    s.lease_state = lease.state;
    s.lease_grants = lease.grants;
    s.lease_recalls = lease.recalls;
    s.lease_reconnects = lease.reconnects;
  }
  s.mover_decide_ns = m.times.decide_ns;
  s.mover_begin_ns = m.times.begin_ns;
  s.mover_remap_ns = m.times.remap_ns;
  s.mover_map_ns = m.times.map_ns;
  return s;
}

}  // namespace vramspan
