// How a runtime is put together, step by step: what it stands on comes before what stands on it.
#include <absl/strings/str_cat.h>

#include <optional>
#include <string>
#include <utility>

#include "runtime/api/price_file.h"
#include "runtime/api/runtime.h"
#include "runtime/api/settings.h"
#include "runtime/api/spill_text.h"
#include "runtime/api/tracing.h"
#include "runtime/backing/budget.h"
#include "runtime/backing/host_place.h"
#include "runtime/backing/stream_waits.h"
#include "runtime/base/clean_text.h"
#include "runtime/base/log.h"
#include "runtime/driver/checker.h"
#include "runtime/scheduler/told_owner.h"

namespace vramspan {
namespace {

// The user's wish, of which the program knows nothing: its run matters more.
void TellUnrecorded(const Setting& setting, const Status& why) {
  Log(LogLevel::kError, absl::StrCat(setting.Error(why).message(), "; nothing is recorded there"));
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

class Runtime::Maker {
 public:
  explicit Maker(Settings settings) : settings_(std::move(settings)) {}

  StatusOr<std::unique_ptr<Runtime>> Make() {
    VS_RETURN_IF_ERROR(FindDevice());
    VS_RETURN_IF_ERROR(FindBudgets());
    VS_RETURN_IF_ERROR(FindLaunches());
    FindPrices();
    VS_RETURN_IF_ERROR(OpenRecording());
    OpenEvents();
    VS_RETURN_IF_ERROR(MakeMemory());
    VS_RETURN_IF_ERROR(StartMover());
    VS_RETURN_IF_ERROR(WatchWork());
    VS_RETURN_IF_ERROR(JoinOthers());
    return std::move(r_);
  }

 private:
  Status FindDevice();
  Status TakeContext();
  Status FindBudgets();
  // Whether they are traced, and who audits them.
  Status FindLaunches();
  void FindPrices();
  Status OpenRecording();
  // Of the scheduler. They are told of the policy's answers, too.
  void OpenEvents();
  Status MakeMemory();
  Status StartMover();
  // What hears of work, or of what it does.
  Status WatchWork();
  Status StartTracer();
  // Who shares the device, and who looks.
  Status JoinOthers();

  const Driver& driver() const { return *r_->driver_; }

  Settings settings_;
  std::unique_ptr<Runtime> r_{new Runtime()};
  Capabilities device_;
  ShortageHelp help_;
  std::optional<std::string> audited_;  // The folder of an audit.
  bool traced_ = false;
  MemoryOptions memory_;
  MoverOptions mover_;
};

StatusOr<std::unique_ptr<Runtime>> Runtime::Create(const vramspanConfig* config) {
  VS_ASSIGN_OR_RETURN(Settings settings, ReadSettings(config));
  return Maker(std::move(settings)).Make();
}

Status Runtime::Maker::FindDevice() {
  VS_ASSIGN_OR_RETURN(r_->driver_, Driver::Load(settings_.driver));
  VS_RETURN_IF_ERROR(TakeContext());
  VS_ASSIGN_OR_RETURN(device_, ReadCapabilities(driver(), r_->device_));
  if (settings_.tuned_for.has_value() && *settings_.tuned_for != device_.uuid) {
    Log(LogLevel::kWarning,
        absl::StrCat("the profile is stale: it was tuned for device ",
                     Repeated(*settings_.tuned_for), ", and this is ", device_.uuid, " (",
                     device_.name, "); record and tune on this device"));
  }
  return CanWork(driver(), device_);
}

Status Runtime::Maker::TakeContext() {
  CUcontext* const context = &r_->context_;
  VS_RETURN_IF_ERROR(Check(driver()->CtxGetCurrent(context), "cuCtxGetCurrent"));
  if (*context != nullptr) {
    return Check(driver()->CtxGetDevice(&r_->device_), "cuCtxGetDevice");
  }
  int count = 0;
  VS_RETURN_IF_ERROR(Check(driver()->DeviceGetCount(&count), "cuDeviceGetCount"));
  if (settings_.device < 0 || settings_.device >= count) {
    return absl::InvalidArgumentError(absl::StrCat("there is no device ", settings_.device,
                                                   "; this machine has ", count,
                                                   ", numbered from 0"));
  }
  VS_RETURN_IF_ERROR(Check(driver()->DeviceGet(&r_->device_, settings_.device), "cuDeviceGet"));
  VS_RETURN_IF_ERROR(
      Check(driver()->DevicePrimaryCtxRetain(context, r_->device_), "cuDevicePrimaryCtxRetain"));
  r_->retained_ = true;
  return absl::OkStatus();
}

Status Runtime::Maker::FindBudgets() {
  {
    ScopedContext current(driver(), r_->context_);
    VS_RETURN_IF_ERROR(current.status());
    size_t free = 0, total = 0;
    VS_RETURN_IF_ERROR(Check(driver()->MemGetInfo(&free, &total), "cuMemGetInfo"));
    r_->total_ = Bytes(total);
    VS_ASSIGN_OR_RETURN(memory_.device_budget,
                        DeviceBudget(settings_.device_memory, Bytes(total), Bytes(free)));
    const Bytes usual = DefaultDeviceBudget(Bytes(total), Bytes(free));
    help_.spare = usual > memory_.device_budget ? usual - memory_.device_budget : Bytes(0);
  }
  VS_ASSIGN_OR_RETURN(memory_.host_budget, HostBudget(settings_.host_memory));
  memory_.use_host = settings_.use_host;
  if (memory_.use_host) VS_RETURN_IF_ERROR(FindHostPlace(driver(), r_->context_, &device_));
  if (!device_.host_refused.empty()) {
    Log(LogLevel::kInfo, absl::StrCat("host memory comes from ", PlaceText(device_.host),
                                      ", because of ", device_.host_refused));
  }
  // Where the driver has 64-bit waits, it has those of 32 bits, which are used.
  if (!device_.wide_stream_ops) VS_RETURN_IF_ERROR(TryStreamWaits(driver(), r_->context_, device_));
  const bool given = settings_.device_memory.text.has_value();
  VS_RETURN_IF_ERROR(
      r_->JoinBroker(device_.uuid, given, settings_.host_memory.text.has_value(), &memory_));
  return r_->ShareByClaims(device_.uuid, given, &memory_);
}

Status Runtime::Maker::FindLaunches() {
  const Setting& tracer = settings_.tracer;
  audited_ = Audit::Folder();
  if (settings_.source == LaunchSource::kOff) {
    if (!audited_.has_value()) return absl::OkStatus();
    return Audit::Refuse(*audited_,
                         tracer.Error(absl::FailedPreconditionError(
                             "an audit needs traced launches, but the program asks for 'off'")));
  }
  const Status started = Tracing::Get().Start(r_->driver_, settings_.source);
  traced_ = started.ok() && Tracing::Get().sees();
  if (traced_) return absl::OkStatus();
  if (audited_.has_value()) return Audit::Refuse(*audited_, tracer.Error(started));
  if (settings_.source != LaunchSource::kAuto) return tracer.Error(started);
  Log(LogLevel::kInfo,
      absl::StrCat("launches are not traced, so only memory of declared work moves: ",
                   started.message()));
  return absl::OkStatus();
}

void Runtime::Maker::FindPrices() {
  const std::optional<Prices> measured = MeasuredPrices(driver(), device_);
  r_->prices_ = measured.value_or(Prices{});
  if (device_.memory_gb_per_s > 0) {
    r_->prices_.device_gb_per_s = Prices::kStreamed * device_.memory_gb_per_s;
  }
  help_.measured = measured.has_value();
  help_.brokered = r_->lease_ != nullptr;
}

Status Runtime::Maker::OpenRecording() {
  const Setting& record = settings_.record;
  if (!record.text.has_value()) return absl::OkStatus();
  trace::Header header;
  header.device = device_.name;
  header.device_uuid = device_.uuid;
  header.device_memory = r_->total_;
  header.device_budget = memory_.device_budget;
  header.host_budget = memory_.use_host ? memory_.host_budget : Bytes(0);
  header.policy = settings_.policy_name;
  header.overlap = traced_ ? OverlapName(settings_.overlap) : "all";
  header.chunk_log2 = settings_.chunk_log2;
  header.waits = traced_;
  header.possible = traced_;
  header.trust = traced_;
  header.serve_gb_per_s = r_->prices_.serve_gb_per_s;
  header.move_gb_per_s = r_->prices_.move_gb_per_s;
  header.device_gb_per_s = r_->prices_.device_gb_per_s;
  auto recorder = Recorder::Open(*record.text, settings_.times, r_->driver_, r_->context_, header);
  if (recorder.ok()) {
    r_->recorder_ = *std::move(recorder);
  } else if (settings_.record_matters) {
    return record.Error(recorder.status());
  } else {
    TellUnrecorded(record, recorder.status());
  }
  return absl::OkStatus();
}

void Runtime::Maker::OpenEvents() {
  if (!settings_.events.text.has_value()) return;
  auto recording = EventRecording::Open(*settings_.events.text);
  if (!recording.ok()) return TellUnrecorded(settings_.events, recording.status());
  r_->events_ = *std::move(recording);
  mover_.sink = r_->events_->sink();
  auto told = std::make_unique<ToldPolicy>(std::move(settings_.policy), mover_.sink);
  mover_.policy = told->decides();
  settings_.policy = std::move(told);
}

Status Runtime::Maker::MakeMemory() {
  memory_.chunk_log2 = settings_.chunk_log2;
  if (settings_.arena.has_value()) memory_.arena = *settings_.arena;
  memory_.ordinal = device_.ordinal;
  memory_.host_place = device_.host;
  memory_.context = r_->context_;
  memory_.announce = !settings_.quiet;
  memory_.traced = traced_;
  memory_.shortage_note = ShortageNote(r_->prices_, help_);
  memory_.listener = r_->recorder_.get();
  if (!settings_.pins.empty()) {
    r_->profile_pins_ =
        std::make_unique<ProfilePins>(settings_.pins, memory_.device_budget, memory_.listener);
    memory_.listener = r_->profile_pins_.get();
  }
  VS_ASSIGN_OR_RETURN(r_->memory_,
                      Memory::Create(r_->driver_, memory_, std::move(settings_.policy)));
  if (r_->profile_pins_ != nullptr) r_->profile_pins_->SetMemory(r_->memory_.get());
  return absl::OkStatus();
}

Status Runtime::Maker::StartMover() {
  const Checker checker = CheckerBeside();
  if (checker != Checker::kNone && memory_.announce) {
    Log(LogLevel::kWarning,
        absl::StrCat("beside ", CheckerName(checker),
                     " launches wait in their threads while memory moves, which is slow; what the "
                     "tool reports is the program's own"));
  }
  mover_.listener = r_->recorder_.get();
  mover_.own_context = !settings_.share_context && checker == Checker::kNone;
  if (settings_.deadline.count() != 0) mover_.deadline = settings_.deadline;
  mover_.traced = traced_;
  if (traced_) mover_.others = &Tracing::Passers;
  // What was submitted before may wait for the thread that is here.
  mover_.fingerprints = !Tracing::unseen();
  mover_.idle_fetches = !audited_.has_value();
  mover_.prices = r_->prices_;
  mover_.room = r_->lease_.get();
  mover_.showing = &r_->showing_;
  VS_ASSIGN_OR_RETURN(r_->mover_, Mover::Start(r_->memory_.get(), mover_));
  return absl::OkStatus();
}

Status Runtime::Maker::WatchWork() {
  Memory* const memory = r_->memory_.get();
  Mover* const mover = r_->mover_.get();
  if (!settings_.kernels.empty()) {
    r_->teacher_ = std::make_unique<KernelTeacher>(settings_.kernels, r_->driver_);
  }
  if (settings_.learns && traced_ && !audited_.has_value()) {
    r_->learning_ = MakeLearning(
        {.device = device_.name, .ordinal = device_.ordinal, .driver = driver().version()});
  }
  if (r_->learning_ != nullptr) r_->learning_->Begin(mover);
  if (r_->recorder_ != nullptr && traced_ && mover_.own_context && mover_.fingerprints) {
    r_->recorder_->WatchContents(r_->context_, memory, mover);
  }
  if (audited_.has_value()) {
    VS_ASSIGN_OR_RETURN(r_->audit_, Audit::Open(*audited_, driver(), r_->device_, memory, mover));
  }
  return traced_ ? StartTracer() : absl::OkStatus();
}

Status Runtime::Maker::StartTracer() {
  const Overlap overlap = settings_.overlap;
  Tracing& tracing = Tracing::Get();
  auto& tracer = r_->tracer_;
  tracer =
      std::make_unique<Tracer>(tracing.decoder(), r_->memory_.get(), r_->mover_.get(), overlap);
  tracer->SetAudit(r_->audit_.get());
  tracer->SetRecorder(r_->recorder_.get());
  tracer->SetTeacher(r_->teacher_.get());
  tracer->SetLearning(r_->learning_.get());
  // With the other settings nothing follows from it.
  if (r_->audit_ == nullptr && (overlap == Overlap::kAuto || overlap == Overlap::kProven)) {
    tracer->SetReading(CodeReading::Get(driver()));
  }
  tracer->SetGraphLaunch(settings_.graphs);
  const PageMap& map = r_->memory_->page_map();
  const Status added = tracing.Add(r_->context_, tracer.get(), map.base(), map.size());
  if (!added.ok()) tracer.reset();
  return added;
}

Status Runtime::Maker::JoinOthers() {
  Runtime* const r = r_.get();
  if (r->lease_ != nullptr) {
    VS_RETURN_IF_ERROR(
        r->lease_->Drive(r->memory_.get(), r->mover_.get(), [r](const Budgets& budgets) {
          DevicePool& pool = r->memory_->device_pool();
          if (pool.budget() != budgets.device) r->ApplyDeviceBudget(budgets.device);
          pool.SetBudget(budgets.device);
          r->memory_->host_pool().SetBudget(budgets.host);
        }));
  }
  if (r->room_ != nullptr) r->room_->SetListener([r] { r->TellDeviceBudget(); });
  return r->ShowLive({.uuid = device_.uuid,
                      .name = device_.name,
                      .ordinal = device_.ordinal,
                      .move_gb_per_s = r->prices_.move_gb_per_s,
                      .serve_gb_per_s = r->prices_.serve_gb_per_s,
                      .flags = help_.measured ? LiveRecord::kPricesMeasured : 0});
}

}  // namespace vramspan
