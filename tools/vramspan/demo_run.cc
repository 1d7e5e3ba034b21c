#include "tools/vramspan/demo_run.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "runtime/backing/budget.h"
#include "runtime/backing/host_limits.h"
#include "runtime/backing/host_place.h"
#include "tools/vramspan/demo_device.h"
#include "tools/vramspan/demo_launches.h"
#include "tools/vramspan/demo_progress.h"
#include "tools/vramspan/demo_report.h"
#include "tools/vramspan/demo_text.h"
#include "tools/vramspan/open_driver.h"

namespace vramspan::demo {
namespace {

using Clock = std::chrono::steady_clock;

// The default deadline takes work that does not end for a program that waits for something. On a
// CPU that others use too, a kernel of the demo can take as long.
constexpr std::chrono::microseconds kSimulatedDeadline{std::chrono::seconds(5)};

struct Chosen {
  std::shared_ptr<const Driver> driver;
  bool simulated = false;
  std::string why_simulated;  // What the machine lacks for its own driver; empty if not asked.
};

// Whether `driver` works on device `ordinal`.
Status Works(const Driver& driver, int ordinal) {
  int count = 0;
  VS_RETURN_IF_ERROR(Check(driver->DeviceGetCount(&count), "cuDeviceGetCount"));
  if (count == 0) return absl::NotFoundError("the driver sees no GPU");
  if (ordinal < 0 || ordinal >= count) {
    return absl::InvalidArgumentError(
        absl::StrCat("--device: ", ordinal, " is not there; use 0",
                     count > 1 ? absl::StrCat(" to ", count - 1) : ", the only one"));
  }
  VS_ASSIGN_OR_RETURN(Capabilities capabilities, ReadCapabilities(driver, ordinal));
  VS_RETURN_IF_ERROR(CanWork(driver, capabilities));
  if (capabilities.host_numa_vmm) return absl::OkStatus();  // If not, the demo's runtime says why.
  CUdevice device = 0;
  CUcontext context = nullptr;
  VS_RETURN_IF_ERROR(Check(driver->DeviceGet(&device, ordinal), "cuDeviceGet"));
  VS_RETURN_IF_ERROR(
      Check(driver->DevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain"));
  Status place = FindHostPlace(driver, context, &capabilities);
  place.Update(Check(driver->DevicePrimaryCtxRelease(device), "cuDevicePrimaryCtxRelease"));
  return place;
}

StatusOr<Chosen> ChooseDriver(const Options& options) {
  Chosen chosen;
  const char* named = std::getenv("VRAMSPAN_DRIVER");
  if (!options.simulate) {
    StatusOr<std::shared_ptr<const Driver>> real = OpenDriver(false);
    const Status works = real.ok() ? Works(**real, options.device) : real.status();
    if (works.ok()) {
      chosen.driver = *real;
      chosen.simulated = IsSimulated(**real);
      return chosen;
    }
    // A driver or a device that was asked for by name is not replaced by another.
    if ((named != nullptr && *named != '\0') || absl::IsInvalidArgument(works)) return works;
    chosen.why_simulated = std::string(works.message());
  }
  VS_ASSIGN_OR_RETURN(chosen.driver, OpenDriver(true));
  VS_RETURN_IF_ERROR(Works(*chosen.driver, options.device));
  chosen.simulated = true;
  return chosen;
}

// The simulated device gets room for the run without a limit, if this machine has it.
Status MakeRoom(const Options& options, const Driver& driver) {
  VS_ASSIGN_OR_RETURN(const std::optional<Bytes> data, DataBeforeDevice(options, true));
  if (!data.has_value()) return absl::OkStatus();
  VS_ASSIGN_OR_RETURN(const HostLimits limits, ReadHostLimits());
  Bytes room = limits.available;
  if (limits.cgroup_room.has_value()) room = std::min(room, *limits.cgroup_room);
  // Data on the device, a copy on the host, and some to live in.
  if (data->value > room.value / 5 * 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.data.empty() ? "--device-memory" : "--data", ": ", SizeText(*data),
        " of data take about 2.5 times as much of this machine's memory on the simulated GPU, and "
        "there are ",
        SizeText(room), "; use --data ", room.value / 5 * 2 >> 20, "MiB or less"));
  }
  const auto set_memory =
      reinterpret_cast<int (*)(int, unsigned long long)>(driver.Symbol("simcudaSetDeviceMemory"));
  if (set_memory(options.device, (*data + Bytes(data->value / 2) + MiB(512)).value) != 0) {
    return absl::InternalError("the simulated driver refused a size of its device memory");
  }
  return absl::OkStatus();
}

struct Budget {
  std::string name;
  Bytes bytes;
};

// `whole`: what holds all data, as the unlimited run had it.
std::vector<Budget> Budgets(const Plan& plan, Bytes whole) {
  std::vector<Budget> budgets;
  bool has_headline = !plan.headline_asked;
  for (const int percent : plan.percents) {
    Bytes bytes(whole.value / 100 * static_cast<uint64_t>(percent));
    if (percent == 100) bytes = whole;
    bytes = Bytes(bytes.value / kGranularity.value * kGranularity.value);
    // What was asked for stands for the percentage that it is, give or take 2 %.
    const uint64_t asked = plan.device_memory.value;
    if (!has_headline && asked * 50 >= bytes.value * 49 && asked * 50 <= bytes.value * 51 &&
        percent != 100) {
      bytes = plan.device_memory;
      has_headline = true;
    }
    if (!has_headline && plan.device_memory > bytes) {
      budgets.push_back({"device memory", plan.device_memory});
      has_headline = true;
    }
    budgets.push_back({absl::StrCat(percent, " %"), bytes});
  }
  if (!has_headline) budgets.push_back({"device memory", plan.device_memory});
  return budgets;
}

class Runner {
 public:
  Runner(const Options& options, const Device& device, const Shape& shape, const Launches& launches,
         std::chrono::microseconds deadline, Progress* progress)
      : options_(options),
        device_(device),
        shape_(shape),
        launches_(launches),
        deadline_(deadline),
        progress_(*progress) {}

  RunResult Run(const std::string& name, Bytes budget, size_t index, size_t count) {
    progress_.Begin(absl::StrFormat("[%d/%d] %s (%s of device memory)", index, count,
                                    name == "unlimited" ? "unlimited" : "budget " + name,
                                    SizeText(budget)));
    const Runtime runtime({.device = options_.device,
                           .driver = device_.driver().path(),
                           .device_memory = absl::StrCat(budget.value),
                           .chunk = options_.chunk,
                           .policy = options_.policy,
                           .tracer = launches_.traced ? "cupti" : "off",
                           .overlap = launches_.overlap,
                           .deadline = deadline_,
                           .quiet = true});
    Program program(device_, runtime, shape_, /*declares=*/!launches_.traced);
    progress_.Step("filling");
    program.Fill();
    runtime.synchronize();

    RunResult result;
    result.budget = name;
    result.at_start = runtime.statistics();
    const auto start = Clock::now();
    program.Run([&](int rounds) {
      progress_.Step(absl::StrFormat("round %d of %d", rounds, shape_.rounds));
    });
    result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    runtime.synchronize();
    result.at_end = runtime.statistics();
    progress_.Step("checking every byte");
    result.digest = program.Finish();
    runtime.synchronize();
    return result;
  }

 private:
  const Options& options_;
  const Device& device_;
  const Shape& shape_;
  const Launches& launches_;
  const std::chrono::microseconds deadline_;
  Progress& progress_;
};

std::string NextCommand(const Options& options, const Report& report) {
  if (options.quick) return report.simulated ? "vramspan demo --simulate" : "vramspan demo";
  return report.simulated ? "vramspan info --simulate" : "vramspan info";
}

StatusOr<Report> MakeReport(const Options& options, const Chosen& chosen, Progress* progress) {
  Report report;
  report.simulated = chosen.simulated;
  report.driver = chosen.driver->path();
  report.driver_version = chosen.driver->version();
  report.why_simulated = chosen.why_simulated;
  report.chunk = OrDefault(options.chunk, "VRAMSPAN_CHUNK", "auto");
  report.policy = OrDefault(options.policy, "VRAMSPAN_POLICY", "cost");

  VS_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                      Device::Open(chosen.driver, options.device));
  report.device = device->capabilities().name;
  report.device_total = device->capabilities().total_memory;
  if (!chosen.why_simulated.empty()) {
    progress->Note("no usable GPU here: " + chosen.why_simulated);
  }
  progress->Note(absl::StrCat("running on ", chosen.simulated ? "the simulated GPU" : "the GPU",
                              " ", options.device, ": ", report.device, ", ",
                              SizeText(report.device_total)));
  VS_ASSIGN_OR_RETURN(report.launches,
                      ChooseLaunches(options.declare, options.overlap, chosen.driver));
  progress->Note(absl::StrCat("launches are ", LaunchesText(report.launches)));
  const Bytes room = DefaultDeviceBudget(report.device_total, device->free_memory());
  VS_ASSIGN_OR_RETURN(const Plan plan,
                      MakePlan(options, chosen.simulated, report.device_total, room));
  report.shape = plan.shape;
  report.headline_budget = plan.device_memory;
  Runner runner(options, *device, plan.shape, report.launches,
                chosen.simulated ? kSimulatedDeadline : std::chrono::microseconds(0), progress);
  // What holds all data is told by the first run; that changes their sizes, not how many there are.
  size_t count = 1 + Budgets(plan, plan.shape.total_bytes()).size();
  report.runs.push_back(runner.Run("unlimited", room, 1, count));
  const std::vector<Budget> budgets = Budgets(plan, Bytes(report.runs[0].at_end.device_used));
  count = 1 + budgets.size();
  for (const Budget& budget : budgets) {
    report.runs.push_back(runner.Run(budget.name, budget.bytes, report.runs.size() + 1, count));
  }
  return report;
}

}  // namespace

StatusOr<bool> RunDemo(const Options& options) {
  VS_RETURN_IF_ERROR(CheckOptions(options));
  const bool json = options.format == "json";
  VS_ASSIGN_OR_RETURN(const Chosen chosen, ChooseDriver(options));
  if (chosen.simulated) VS_RETURN_IF_ERROR(MakeRoom(options, *chosen.driver));
  StatusOr<Report> report = absl::InternalError("the demo did not run");
  {
    Progress progress(json ? Progress::Style::kNone : Progress::StyleOfStderr());
    try {
      report = MakeReport(options, chosen, &progress);
    } catch (const Error& error) {
      report = absl::InternalError(error.what());
    }
  }
  if (!report.ok()) return report.status();
  const std::string text = json ? ToJson(*report) : ToTable(*report);
  std::fputs(text.c_str(), stdout);
  if (!json) std::printf("\nnext: %s\n", NextCommand(options, *report).c_str());
  return report->AllIdentical();
}

}  // namespace vramspan::demo
