#include "tools/vramspan/info_report.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "runtime/backing/budget.h"
#include "runtime/backing/host_limits.h"
#include "runtime/backing/host_place.h"
#include "runtime/backing/stream_waits.h"
#include "runtime/base/log.h"
#include "runtime/driver/surroundings.h"
#include "tools/simcuda/kernel_images.h"
#include "tools/vramspan/info_cache.h"
#include "tools/vramspan/open_driver.h"

SIMCUDA_DECLARE_KERNELS(probe_kernels);

namespace vramspan::info {
namespace {

// A context of our own, for a scope.
class OwnContext {
 public:
  OwnContext(const Driver& driver, int ordinal) : driver_(driver) {
    CUdevice device = 0;
    status_ = Check(driver_->DeviceGet(&device, ordinal), "cuDeviceGet", absl::StrCat(ordinal));
    if (!status_.ok()) return;
    device_ = device;
    status_ = Check(driver_->CtxCreate(&context_, nullptr, 0, device), "cuCtxCreate",
                    absl::StrCat("device ", ordinal));
  }
  ~OwnContext() {
    if (context_ != nullptr) driver_->CtxDestroy(context_);
  }
  OwnContext(const OwnContext&) = delete;
  OwnContext& operator=(const OwnContext&) = delete;

  const Status& status() const { return status_; }
  CUcontext get() const { return context_; }
  CUdevice device() const { return device_; }

  // The probe kernels, loaded into this context; they end with it.
  StatusOr<ProbeKernels> LoadKernels() {
    CUmodule module = nullptr;
    const CUresult loaded =
        simcuda::LoadKernels(probe_kernels_images(), driver_->ModuleLoadData, &module);
    if (simcuda::IsForeignImage(loaded)) {
      return absl::FailedPreconditionError(
          "this build of vramspan carries no kernels for this device (built without nvcc, or for "
          "other architectures)");
    }
    VS_RETURN_IF_ERROR(Check(loaded, "cuModuleLoadData", "the probe kernels"));
    ProbeKernels kernels{};
    const struct {
      CUfunction* function;
      const char* name;
    } functions[] = {{&kernels.sum, "probe_sum"},
                     {&kernels.fill, "probe_fill"},
                     {&kernels.count, "probe_count"}};
    for (const auto& f : functions) {
      VS_RETURN_IF_ERROR(Check(driver_->ModuleGetFunction(f.function, module, f.name),
                               "cuModuleGetFunction", f.name));
    }
    return kernels;
  }

 private:
  const Driver& driver_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  Status status_;
};

// Fills in what a kernel finds out about host memory. A failing probe makes `works` an error.
void Probe(const std::shared_ptr<const Driver>& driver, DeviceReport* report) {
  OwnContext context(*driver, report->capabilities.ordinal);
  const auto not_tried = [&](const Status& status) {
    report->access_note = absl::StrCat("not tried: ", status.message());
  };
  if (!context.status().ok()) {
    not_tried(context.status());
    report->works = context.status();
    return;
  }
  size_t free = 0, total = 0;
  if (driver->api().MemGetInfo(&free, &total) == CUDA_SUCCESS) {
    report->free_memory = Bytes(free);
    report->device_budget = DefaultDeviceBudget(Bytes(total), Bytes(free));
  }
  report->works = FindHostPlace(*driver, context.get(), &report->capabilities);
  const Status waits = TryStreamWaits(*driver, context.get(), report->capabilities);
  report->stream_waits = waits.ok();
  report->works.Update(waits);
  if (!report->works.ok()) {
    report->access_note = "not tried: vramspan cannot work on this device";
    return;
  }
  const auto kernels = context.LoadKernels();
  if (!kernels.ok()) report->access_note = kernels.status().message();
  auto access = ProbeHostAccess(driver, report->capabilities, context.get(),
                                kernels.ok() ? &*kernels : nullptr);
  if (!access.ok()) {
    not_tried(access.status());
    report->works = access.status();
    return;
  }
  if (!access->ok()) {
    report->works = absl::FailedPreconditionError(
        absl::StrCat("device ", report->capabilities.ordinal, " (", report->capabilities.name,
                     ") does not reach host memory as it must: ", access->failure));
  }
  report->access = *std::move(access);
}

// The context of the probe may be dead or warm; the measurement gets a fresh one.
StatusOr<DeviceCosts> Measure(const std::shared_ptr<const Driver>& driver,
                              const Capabilities& capabilities) {
  OwnContext context(*driver, capabilities.ordinal);
  VS_RETURN_IF_ERROR(context.status());
  const auto kernels = context.LoadKernels();
  return MeasureCosts(driver, capabilities, context.get(), kernels.ok() ? &*kernels : nullptr);
}

void KeepPrices(const Driver& driver, const std::string& uuid, const DeviceCosts& costs) {
  const Status kept = WritePrices(uuid, driver.version(), costs);
  if (kept.ok()) return;
  Log(LogLevel::kWarning, absl::StrCat("runtimes decide by built-in costs: ", kept.message()));
}

void FindCosts(const std::shared_ptr<const Driver>& driver, bool measure, DeviceReport* report) {
  const std::string& uuid = report->capabilities.uuid;
  const auto path = CachePath(uuid);
  if (path.ok() && !measure) {
    auto cached = ReadCache(*path, uuid, driver->version());
    if (cached.ok()) {
      report->costs = *std::move(cached);
      report->costs_cached = true;
      report->costs_note = absl::StrCat("from ", *path, "; --measure renews them");
      KeepPrices(*driver, uuid, *report->costs);
      return;
    }
    if (!absl::IsNotFound(cached.status())) {
      Log(LogLevel::kWarning, absl::StrCat("measuring again, because ", cached.status().message()));
    }
  }
  auto costs = Measure(driver, report->capabilities);
  if (!costs.ok()) {
    report->costs_note = absl::StrCat("could not be measured: ", costs.status().message());
    return;
  }
  report->costs = *std::move(costs);
  const Status written =
      path.ok() ? WriteCache(*path, uuid, driver->version(), *report->costs) : path.status();
  report->costs_note =
      written.ok() ? absl::StrCat("just measured, kept in ", *path) : "just measured, not kept";
  if (!written.ok()) {
    Log(LogLevel::kWarning, absl::StrCat("the costs are not kept: ", written.message()));
    return;
  }
  KeepPrices(*driver, uuid, *report->costs);
}

// "0000:01:00.0"; empty where the driver does not say.
std::string PciBus(const Driver& driver, int ordinal) {
  const auto ask =
      reinterpret_cast<decltype(&cuDeviceGetPCIBusId)>(driver.Symbol("cuDeviceGetPCIBusId"));
  char bus[32] = "";
  CUdevice device = 0;
  if (ask == nullptr || driver->DeviceGet(&device, ordinal) != CUDA_SUCCESS ||
      ask(bus, sizeof(bus), device) != CUDA_SUCCESS) {
    return "";
  }
  bus[sizeof(bus) - 1] = '\0';
  return bus;
}

// What this run has pinned at once: the largest chunk that it measured, or the one that it tried.
Bytes MostPinned(const DeviceReport& report) {
  if (report.costs_cached || !report.costs.has_value()) return kGranularity;
  const auto& chunks = report.costs->chunks;
  size_t last = chunks.size();
  while (last > 1 && !chunks[last - 1].host.has_value()) --last;
  return ChunkBytes(kMinChunkLog2 + static_cast<int>(last) - 1);
}

StatusOr<DeviceReport> ReportDevice(const std::shared_ptr<const Driver>& driver, int ordinal,
                                    const HostReport& host, const Options& options) {
  DeviceReport report;
  VS_ASSIGN_OR_RETURN(report.capabilities, ReadCapabilities(*driver, ordinal));
  report.works = CanWork(*driver, report.capabilities);
  report.surroundings = SurroundingsText(*driver, report.capabilities.name);
  if (!IsSimulated(*driver)) report.link = PciLinkText(PciBus(*driver, ordinal));
  if (host.limits.has_value()) report.host_budget = DefaultHostBudget(*host.limits);
  if (!report.works.ok()) {
    report.access_note = "not tried: vramspan cannot work on this device";
    report.costs_note = "not measured: vramspan cannot work on this device";
    return report;
  }
  Probe(driver, &report);
  if (report.works.ok()) {
    FindCosts(driver, options.measure, &report);
    report.locked = LockedText(host, MostPinned(report));
    // Last: what reads counters stays in the process, and may change what is measured.
    const OwnContext context(*driver, ordinal);
    report.counters = context.status().ok()
                          ? CountersCanBeRead(*driver, context.device(), context.get())
                          : context.status();
  } else {
    report.costs_note = "not measured: vramspan cannot work on this device";
  }
  return report;
}

}  // namespace

bool Report::AnyWorks() const {
  return std::any_of(devices.begin(), devices.end(),
                     [](const DeviceReport& d) { return d.works.ok(); });
}

StatusOr<Report> MakeReport(const Options& options) {
  auto opened = OpenDriver(options.simulate);
  if (absl::IsNotFound(opened.status()) && !options.simulate) {
    return absl::NotFoundError(absl::StrCat(opened.status().message(), WhereDriversComeFrom()));
  }
  VS_RETURN_IF_ERROR(opened.status());
  const std::shared_ptr<const Driver> driver = *std::move(opened);
  Report report;
  report.driver_path = driver->path();
  report.driver_version = driver->version();
  report.simulated = IsSimulated(*driver);
  report.host = ReadHost();
  report.trust = TrustSources();
  report.code_reader = CodeReader();
  int count = 0;
  VS_RETURN_IF_ERROR(Check(driver->api().DeviceGetCount(&count), "cuDeviceGetCount"));
  if (count == 0) {
    return absl::NotFoundError(
        absl::StrCat("the driver ", driver->path(),
                     " shows no device; look at CUDA_VISIBLE_DEVICES and "
                     "nvidia-smi, or use the simulated driver (--simulate)"));
  }
  if (options.device.has_value() && *options.device >= count) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no device ", *options.device, "; use 0",
                     count > 1 ? absl::StrCat(" to ", count - 1) : ", the only one"));
  }
  for (int i = 0; i < count; ++i) {
    if (options.device.has_value() && *options.device != i) continue;
    VS_ASSIGN_OR_RETURN(DeviceReport device, ReportDevice(driver, i, report.host, options));
    report.devices.push_back(std::move(device));
  }
  return report;
}

}  // namespace vramspan::info
