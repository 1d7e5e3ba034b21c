// A report as JSON.
#include <absl/strings/str_cat.h>

#include "runtime/backing/host_place.h"
#include "tools/vramspan/info_cache.h"
#include "tools/vramspan/info_report.h"
#include "tools/vramspan/info_verdict.h"

namespace vramspan::info {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

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
      {"surroundings", d.surroundings},
      {"link", d.link},
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
        {"stream_wait_value", OrNull(d.stream_waits)},
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

OrderedJson HostJson(const HostReport& host) {
  OrderedJson memory = nullptr;
  if (host.limits.has_value()) {
    memory = {{"total", host.limits->total.value},
              {"available", host.limits->available.value},
              {"cgroup_leaves", OrNull(host.limits->cgroup_room)},
              {"cgroup_file", host.limits->cgroup_file},
              {"may_be_pinned", OrNull(host.pinnable)}};
  }
  return {{"kernel", host.kernel},
          {"machine", host.machine},
          {"distribution", host.distribution},
          {"glibc", host.glibc},
          {"container", host.container},
          {"nvidia_module", host.module},
          {"memory_bytes", std::move(memory)},
          {"memlock_bytes", OrNull(host.memlock)}};
}

}  // namespace

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
                            {"host", HostJson(report.host)},
                            {"trust", std::move(trust)},
                            {"nvdisasm", report.code_reader.ok() ? OrderedJson(*report.code_reader)
                                                                 : OrderedJson(nullptr)},
                            {"devices", std::move(devices)},
                            {"verdict", Verdict(report)}};
  // A device's name is the driver's text; bytes that are no UTF-8 are replaced.
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace vramspan::info
