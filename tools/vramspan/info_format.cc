#include "tools/vramspan/info_format.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include "runtime/backing/host_place.h"
#include "tools/vramspan/info_verdict.h"

namespace vramspan::info {
namespace {

std::string VersionText(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

std::string YesNo(bool yes, const char* what) { return absl::StrCat(yes ? "" : "NOT ", what); }

std::string HandleRow(const std::optional<HandleCosts>& costs) {
  if (!costs.has_value()) return absl::StrFormat("%8s%8s%8s%8s%8s", "-", "-", "-", "-", "-");
  return absl::StrFormat("%8.1f%8.1f%8.1f%8.1f%8.1f", costs->create, costs->map, costs->access,
                         costs->unmap, costs->release);
}

void CostTable(std::string* out, const DeviceCosts& costs) {
  absl::StrAppendFormat(out, "  %-13s%-43s%s\n", "us", "device memory", "host memory");
  absl::StrAppendFormat(out, "  %-8s", "a chunk");
  for (int i = 0; i < 2; ++i) {
    absl::StrAppendFormat(out, "%8s%8s%8s%8s%8s%s", "create", "map", "access", "unmap", "release",
                          i == 0 ? "   " : "\n");
  }
  for (size_t i = 0; i < costs.chunks.size(); ++i) {
    const Bytes size = ChunkBytes(kMinChunkLog2 + static_cast<int>(i));
    absl::StrAppendFormat(out, "  %-8s%s   %s\n", SizeText(size), HandleRow(costs.chunks[i].device),
                          HandleRow(costs.chunks[i].host));
  }
  Line(out, "copies",
       absl::StrFormat("to device %.1f, to host %.1f, both at once %.1f GB/s", costs.copy_to_device,
                       costs.copy_to_host, costs.copy_both));
  if (costs.kernel_read.has_value() && costs.kernel_write.has_value()) {
    Line(out, "kernel on host",
         absl::StrFormat("reads %.1f, writes %.1f GB/s", *costs.kernel_read, *costs.kernel_write));
  }
  Line(out, "held launch",
       absl::StrFormat("%.1f us to hold, %.1f us from the release to the GPU", costs.hold_call,
                       costs.hold_release));
}

}  // namespace

void Line(std::string* out, const char* label, const std::string& text) {
  absl::StrAppendFormat(out, "  %-18s%s\n", label, text);
}

void DeviceTable(std::string* out, const DeviceReport& d) {
  const Capabilities& c = d.capabilities;
  absl::StrAppendFormat(out, "\ndevice %d: %s, compute %d.%d%s%s\n", c.ordinal, c.name,
                        c.compute_major, c.compute_minor, c.uuid.empty() ? "" : ", ", c.uuid);
  if (!d.surroundings.empty()) Line(out, "is", d.surroundings);
  Line(out, "vramspan",
       d.works.ok() ? "works here" : absl::StrCat("CANNOT WORK: ", d.works.message()));
  Line(out, "memory",
       absl::StrCat(SizeText(c.total_memory),
                    d.free_memory.has_value() ? absl::StrCat(", free ", SizeText(*d.free_memory))
                                              : std::string()));
  if (d.access.has_value()) {
    Line(out, "host memory",
         absl::StrCat(
             YesNo(d.access->readable, "readable"), ", ", YesNo(d.access->writable, "writable"),
             d.access->by_kernel
                 ? absl::StrCat(", ", YesNo(d.access->atomic, "atomic"), " for kernels (tried); ")
                 : absl::StrCat(" for copies (tried; no kernel: ", d.access_note, "); "),
             PlaceText(c.host)));
    if (!c.host_refused.empty()) Line(out, "not from", c.host_refused);
  } else {
    Line(out, "host memory", d.access_note);
  }
  Line(out, "granularity",
       absl::StrCat("device ", SizeText(c.device_granularity), ", host ",
                    SizeText(c.host_granularity)));
  if (d.stream_waits.has_value()) {
    Line(out, "stream waits",
         absl::StrCat(YesNo(*d.stream_waits, "supported"), " (tried); of 64 bits ",
                      YesNo(c.wide_stream_ops, "supported"), ", not needed"));
  }
  Line(out, "export",
       absl::StrCat("as file descriptors ", YesNo(c.posix_fd, "supported"), ", RDMA ",
                    YesNo(c.gpu_direct_rdma, "supported")));
  Line(out, "copy engines",
       absl::StrCat(c.async_engines,
                    c.async_engines == 1 ? ": copies to the device and from it take turns" : ""));
  if (!d.link.empty()) Line(out, "link", d.link);
  if (!d.locked.empty()) Line(out, "locked", d.locked);
  if (d.device_budget.has_value() && d.host_budget.has_value()) {
    Line(out, "default budgets",
         absl::StrCat("device ", SizeText(*d.device_budget), ", host ", SizeText(*d.host_budget)));
  }
  if (d.counters.has_value()) {
    Line(out, "audits",
         d.counters->ok()
             ? "can count: `vramspan audit --trust FILE -- program` may prove its kernels"
             : absl::StrCat("CANNOT count: ", d.counters->message(),
                            "; `vramspan prove --trust FILE -- program` needs no counters"));
  }
  Line(out, "costs", d.costs_note);
  if (d.costs.has_value()) CostTable(out, *d.costs);
}

void DriverLines(std::string* out, const Report& report) {
  absl::StrAppend(out, report.simulated ? "simulated driver " : "driver ", report.driver_path,
                  ", CUDA ", VersionText(report.driver_version), "\n");
  for (const TrustSource& source : report.trust) {
    absl::StrAppend(out, "trusted code, ", source.name, ": ",
                    source.read.ok() ? absl::StrCat(source.proven, " codes are proven")
                                     : absl::StrCat("NONE: ", source.read.message()),
                    "\n");
  }
  absl::StrAppend(out,
                  report.code_reader.ok()
                      ? absl::StrCat("code is read as programs run by ", *report.code_reader)
                      : absl::StrCat("code is NOT read as programs run: ",
                                     report.code_reader.status().message()),
                  "\n");
}

std::string ToTable(const Report& report) {
  std::string out;
  DriverLines(&out, report);
  absl::StrAppend(&out, "\nthis machine\n");
  Line(&out, "system", SystemText(report.host));
  Line(&out, "host memory", HostMemoryText(report.host));
  for (const DeviceReport& device : report.devices) DeviceTable(&out, device);
  absl::StrAppend(&out, "\nverdict: ", Verdict(report), "\n");
  return out;
}

}  // namespace vramspan::info
