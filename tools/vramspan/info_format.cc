// Report to text: a table for people, JSON for programs.
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include "runtime/backing/host_place.h"
#include "tools/vramspan/info_cache.h"
#include "tools/vramspan/info_report.h"

namespace vramspan::info {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

std::string VersionText(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

std::string SizeText(Bytes bytes) {
  if (bytes == Bytes(0)) return "none";
  if (bytes >= GiB(1)) {
    return absl::StrFormat("%.1f GiB", static_cast<double>(bytes.value) / (1 << 30));
  }
  return absl::StrFormat("%d MiB", bytes.value >> 20);
}

std::string YesNo(bool yes, const char* what) { return absl::StrCat(yes ? "" : "NOT ", what); }

void Line(std::string* out, const char* label, const std::string& text) {
  absl::StrAppendFormat(out, "  %-18s%s\n", label, text);
}

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

void DeviceTable(std::string* out, const DeviceReport& d) {
  const Capabilities& c = d.capabilities;
  absl::StrAppendFormat(out, "\ndevice %d: %s, compute %d.%d, %s\n", c.ordinal, c.name,
                        c.compute_major, c.compute_minor, c.uuid);
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
  Line(out, "stream waits",
       absl::StrCat(YesNo(d.stream_waits, "supported"), " (tried); of 64 bits ",
                    YesNo(c.wide_stream_ops, "supported"), ", not needed"));
  Line(out, "export",
       absl::StrCat("as file descriptors ", YesNo(c.posix_fd, "supported"), ", RDMA ",
                    YesNo(c.gpu_direct_rdma, "supported")));
  Line(out, "copy engines", absl::StrCat(c.async_engines));
  if (d.device_budget.has_value() && d.host_budget.has_value()) {
    Line(out, "default budgets",
         absl::StrCat("device ", SizeText(*d.device_budget), ", host ", SizeText(*d.host_budget)));
  }
  if (d.counters.has_value()) {
    Line(out, "audits",
         d.counters->ok()
             ? "can count: `vramspan audit --trust FILE -- program` may prove its kernels"
             : absl::StrCat("CANNOT count: ", d.counters->message()));
  }
  Line(out, "costs", d.costs_note);
  if (d.costs.has_value()) CostTable(out, *d.costs);
}

template <typename T>
OrderedJson OrNull(const std::optional<T>& value) {
  return value.has_value() ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson OrNull(const std::optional<Bytes>& value) {
  return value.has_value() ? OrderedJson(value->value) : OrderedJson(nullptr);
}

OrderedJson DeviceJson(const DeviceReport& d) {
  const Capabilities& c = d.capabilities;
  OrderedJson access = nullptr;
  if (d.access.has_value()) {
    access = {{"readable", d.access->readable},
              {"writable", d.access->writable},
              {"by_kernel", d.access->by_kernel},
              {"atomic", d.access->atomic}};
  }
  return {
      {"ordinal", c.ordinal},
      {"name", c.name},
      {"uuid", c.uuid},
      {"compute_capability", absl::StrCat(c.compute_major, ".", c.compute_minor)},
      {"works", d.works.ok()},
      {"missing",
       d.works.ok() ? OrderedJson(nullptr) : OrderedJson(std::string(d.works.message()))},
      {"memory_bytes", {{"total", c.total_memory.value}, {"free", OrNull(d.free_memory)}}},
      {"capabilities",
       {{"vmm", c.vmm},
        {"host_numa_vmm", c.host_numa_vmm},
        {"host_numa_node", c.host_numa_id},
        {"host_memory_from", PlaceText(c.host)},
        {"host_memory_not_from", c.host_refused},
        {"stream_wait_value", d.stream_waits},
        {"wide_stream_ops", c.wide_stream_ops},
        {"posix_fd", c.posix_fd},
        {"gpu_direct_rdma", c.gpu_direct_rdma},
        {"async_engines", c.async_engines}}},
      {"granularity_bytes",
       {{"device", c.device_granularity.value}, {"host", c.host_granularity.value}}},
      {"host_memory_probed", std::move(access)},
      {"audits_can_count", d.counters.has_value() ? OrderedJson(d.counters->ok()) : nullptr},
      {"audits_lack", d.counters.has_value() && !d.counters->ok()
                          ? OrderedJson(std::string(d.counters->message()))
                          : nullptr},
      {"default_budget_bytes",
       {{"device", OrNull(d.device_budget)}, {"host", OrNull(d.host_budget)}}},
      {"costs", d.costs.has_value() ? CostsToJson(*d.costs) : OrderedJson(nullptr)},
      {"costs_cached", d.costs_cached},
  };
}

}  // namespace

std::string ToTable(const Report& report) {
  std::string out =
      absl::StrCat(report.simulated ? "simulated driver " : "driver ", report.driver_path,
                   ", CUDA ", VersionText(report.driver_version), "\n");
  for (const TrustSource& source : report.trust) {
    absl::StrAppend(&out, "trusted code, ", source.name, ": ",
                    source.read.ok() ? absl::StrCat(source.proven, " codes are proven")
                                     : absl::StrCat("NONE: ", source.read.message()),
                    "\n");
  }
  for (const DeviceReport& device : report.devices) DeviceTable(&out, device);
  return out;
}

std::string ToJson(const Report& report) {
  OrderedJson trust = OrderedJson::array();
  for (const TrustSource& source : report.trust) {
    trust.push_back(
        {{"source", source.name},
         {"proven", source.proven},
         {"wrong", source.read.ok() ? OrderedJson(nullptr)
                                    : OrderedJson(std::string(source.read.message()))}});
  }
  OrderedJson devices = OrderedJson::array();
  for (const DeviceReport& device : report.devices) devices.push_back(DeviceJson(device));
  const OrderedJson json = {{"schema", "vramspan.info"},
                            {"schema_version", kSchemaVersion},
                            {"vramspan_version", VRAMSPAN_VERSION_TEXT},
                            {"driver",
                             {{"path", report.driver_path},
                              {"version", report.driver_version},
                              {"simulated", report.simulated}}},
                            {"trust", std::move(trust)},
                            {"devices", std::move(devices)}};
  // A device's name is the driver's text; bytes that are no UTF-8 are replaced.
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace vramspan::info
