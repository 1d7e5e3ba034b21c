#include "tools/vramspan/info_verdict.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>

namespace vramspan::info {
namespace {

// "device 0 (NAME, a vGPU)".
std::string Who(const DeviceReport& d) {
  return absl::StrCat("device ", d.capabilities.ordinal, " (", d.capabilities.name,
                      d.surroundings.empty() ? "" : ", ", d.surroundings, ")");
}

std::string Working(const DeviceReport& d) {
  std::string text = Who(d);
  if (d.device_budget.has_value() && d.host_budget.has_value()) {
    absl::StrAppend(
        &text, " with ", SizeText(*d.device_budget), " of device memory and ",
        *d.host_budget == Bytes(0)
            ? std::string("NO host memory to spill to, for the host has too little left")
            : absl::StrCat(SizeText(*d.host_budget), " of host memory"));
  }
  if (d.costs.has_value()) {
    absl::StrAppendFormat(&text, ", %.1f GB/s in and %.1f out", d.costs->copy_to_device,
                          d.costs->copy_to_host);
  }
  if (d.capabilities.async_engines == 1) absl::StrAppend(&text, ", one way at a time");
  return text;
}

}  // namespace

std::string Verdict(const Report& report) {
  const auto works = [](const DeviceReport& d) { return d.works.ok(); };
  const auto count = std::count_if(report.devices.begin(), report.devices.end(), works);
  std::string text;
  for (const DeviceReport& d : report.devices) {
    if (works(d) != (count > 0)) continue;
    absl::StrAppend(&text, text.empty() ? "" : "; ",
                    works(d) ? Working(d) : std::string(d.works.message()));
  }
  if (count == 0) return absl::StrCat("does NOT work here: ", text);
  if (static_cast<size_t>(count) == report.devices.size()) return absl::StrCat("works on ", text);
  return absl::StrCat("works on ", count, " of ", report.devices.size(), " devices: ", text);
}

}  // namespace vramspan::info
