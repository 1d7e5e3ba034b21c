#include "runtime/preload/capacity.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "runtime/backing/budget.h"
#include "runtime/backing/host_limits.h"
#include "runtime/base/clean_text.h"
#include "runtime/base/log.h"
#include "runtime/base/own_calls.h"
#include "runtime/preload/resolver.h"
#include "runtime/preload/runtimes.h"

namespace vramspan::preload {
namespace {

enum class Report { kDevice, kBudget, kTotal };

Report ReadReport() {
  const char* const variable = std::getenv("VRAMSPAN_REPORT");
  const std::string_view text = variable != nullptr ? variable : "";
  if (text.empty() || text == "device") return Report::kDevice;
  if (text == "budget") return Report::kBudget;
  if (text == "total") return Report::kTotal;
  Log(LogLevel::kWarning,
      absl::StrCat("VRAMSPAN_REPORT: '", Repeated(text),
                   "' is not a way to report memory; use device, budget or total"));
  return Report::kDevice;
}

Report TheReport() {
  static const Report report = ReadReport();
  return report;
}

// A budget as the environment has it. What cannot be read is the runtime's to complain about.
std::optional<uint64_t> BudgetOf(const char* variable, uint64_t whole) {
  const char* const text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  const StatusOr<Bytes> budget = ParseBudget(text, Bytes(whole));
  return budget.ok() ? std::optional<uint64_t>(budget->value) : std::nullopt;
}

// Read once: what is free on the host changes, and a total must not.
uint64_t HostShare() {
  static const uint64_t share = [] {
    const StatusOr<HostLimits> limits = ReadHostLimits();
    if (!limits.ok()) return uint64_t{0};
    return BudgetOf("VRAMSPAN_HOST_MEMORY", limits->total.value)
        .value_or(DefaultHostBudget(*limits).value);
  }();
  return share;
}

// The driver's own total, by which percentages go, whoever is asked.
uint64_t DriversTotal(CUdevice device, uint64_t otherwise) {
  const OwnCalls own;
  const auto ask = DriverFunction<decltype(&::cuDeviceTotalMem_v2)>("cuDeviceTotalMem_v2");
  size_t total = 0;
  return ask != nullptr && ask(&total, device) == CUDA_SUCCESS ? total : otherwise;
}

uint64_t LessOrNone(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

}  // namespace

bool ReportsDevice() { return TheReport() == Report::kDevice; }

bool BrokerMayBe() {
  static const bool may = LeaseBudgets::MayJoin();
  return may;
}

uint64_t ReportedTotal(CUdevice device, uint64_t total) {
  // Of a device that is shared out the tenant's limit is all there is.
  Runtime* const runtime = RuntimeOfDevice(device);
  const uint64_t whole =
      runtime != nullptr ? runtime->LeaseLimit(Bytes(total)).value_or(Bytes(total)).value : total;
  if (TheReport() == Report::kDevice) return whole;
  const uint64_t budget = std::min(
      whole, BudgetOf("VRAMSPAN_DEVICE_MEMORY", DriversTotal(device, total)).value_or(whole));
  return TheReport() == Report::kBudget ? budget : budget + HostShare();
}

uint64_t HeldByRuntime(CUdevice device) {
  Runtime* const runtime = RuntimeOfDevice(device);
  if (runtime == nullptr) return 0;
  const DevicePool& pool = runtime->memory().device_pool();
  return (pool.used() + pool.cached() + runtime->mover().overhead()).value;
}

Capacity Reported(CUdevice device, Capacity driver, uint64_t held) {
  Runtime* const runtime = RuntimeOfDevice(device);
  if (runtime == nullptr) return driver;
  const uint64_t charged = runtime->memory().counts().charged.value;
  // What other programs take part of changes by what they do, and a program that plans by this must
  // not see that.
  const uint64_t budget = runtime->DeviceCeiling().value;
  const uint64_t everything = budget + runtime->memory().host_pool().budget().value;
  Capacity seen;
  seen.total = ReportedTotal(device, driver.total);
  if (const std::optional<Bytes> most = runtime->LeaseMost(); most.has_value()) {
    // Grants change by what others do, and a program that plans by this must not see that. What can
    // never be had is not free.
    seen.free = LessOrNone(std::min(seen.total, most->value), charged);
    return seen;
  }
  switch (TheReport()) {
    case Report::kDevice:
      seen.free = LessOrNone(driver.free + held, charged);
      break;
    case Report::kBudget:
      seen.free = LessOrNone(std::min(budget, seen.total), charged);
      break;
    case Report::kTotal:
      seen.free = LessOrNone(everything, charged);
      break;
  }
  seen.free = std::min({seen.free, seen.total, LessOrNone(everything, charged)});
  return seen;
}

}  // namespace vramspan::preload
