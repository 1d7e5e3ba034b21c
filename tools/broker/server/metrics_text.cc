#include "tools/broker/server/metrics_text.h"

#include <array>
#include <string_view>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"
#include "tools/metrics/exposition.h"

namespace vramspan::broker {
namespace {

using metrics::Exposition;
using metrics::Joined;
using metrics::LabelText;

constexpr std::array<std::string_view, 3> kResults = {"done", "partial", "deferred"};
// By lease::RefuseCode. No code is 0.
constexpr std::array<std::string_view, 6> kRefusals = {"",        "busy",    "share",
                                                       "no_room", "not_now", "denied"};

constexpr std::string_view PlaceName(Place place) {
  return place == Place::kHost ? "host" : "device";
}

class Text {
 public:
  explicit Text(const MetricsFacts& facts)
      : facts_(facts), rows_(CollectRows(facts.accounts, facts.devices, facts.clients)) {}

  std::string Make() {
    OfBroker();
    OfDevices();
    OfPolicies();
    OfTenants();
    OfRecalls();
    OfProcesses();
    return out_.Take();
  }

 private:
  void One(std::string_view name, std::string_view type, std::string_view help, auto value) {
    out_.Begin(name, type, help);
    out_.Add("", value);
  }

  void OfBroker() {
    out_.Begin("vramspan_broker_info", "gauge", "What the broker is. Always 1.");
    out_.Add(LabelText({{"enforcement", "cooperative"},
                        {"sees_use", facts_.sees_use ? "true" : "false"}}),
             uint64_t{1});
    One("vramspan_broker_start_time_seconds", "gauge", "When the broker began, since 1970.",
        facts_.started);
    One("vramspan_broker_cpu_seconds_total", "counter", "What the broker has computed.",
        facts_.spent);
    One("vramspan_broker_drained", "gauge", "1 where everybody was drained.",
        uint64_t{facts_.accounts.drained()});
    uint64_t clients = 0;
    for (const auto& [id, client] : facts_.clients) clients += client->socket ? 1 : 0;
    One("vramspan_broker_clients", "gauge", "Connections of processes, one for each device.",
        clients);
    One("vramspan_broker_reconnects_total", "counter",
        "Processes that came with memory which they held before.", facts_.counts.reconnects);
    out_.Begin("vramspan_broker_refusals_total", "counter",
               "Processes, and their requests for room, that were refused.");
    for (size_t i = 1; i < kRefusals.size(); ++i) {
      out_.Add(LabelText({{"reason", kRefusals[i]}}), facts_.counts.refusals[i]);
    }
    One("vramspan_broker_log_lines_lost_total", "counter",
        "Lines of the log that nobody read, or that were too many.", facts_.lost_lines);
    out_.Begin("vramspan_metrics_left_out", "gauge", "What is not shown here, as it is too much.");
    out_.Add(LabelText({{"kind", "tenant"}}), rows_.tenants_left_out);
    out_.Add(LabelText({{"kind", "process"}}), rows_.processes_left_out);
  }

  void OfDevices() {
    for (const Place place : kPlaces) {
      const bool host = place == Place::kHost;
      out_.Begin(host ? "vramspan_host_capacity_bytes" : "vramspan_device_capacity_bytes", "gauge",
                 host ? "Host memory that is for this device's processes, before what others use."
                      : "Device memory.");
      EachDevice([&](const std::string& gpu, const Device& device) {
        out_.Add(gpu, device.state.pools[place].capacity);
      });
      out_.Begin(host ? "vramspan_host_memory_bytes" : "vramspan_device_memory_bytes", "gauge",
                 "What becomes of it: held by processes here, used by others, kept, or free.");
      EachDevice([&](const std::string& gpu, const Device& device) {
        const State& state = device.state;
        const Pool& pool = state.pools[place];
        const auto add = [&](std::string_view what, Bytes bytes) {
          out_.Add(Joined(gpu, LabelText({{"state", what}})), bytes);
        };
        add("held", Held(state, place));
        add("foreign", pool.foreign);
        if (!host) add("reserve", state.settings.Reserve(pool.capacity));
        add("free", Free(state, place));
      });
    }
    out_.Begin("vramspan_unreclaimable_bytes", "gauge",
               "Device memory of processes that do not answer.");
    EachDevice([&](const std::string& gpu, const Device& device) {
      Bytes sum;
      for (const auto& [id, process] : device.state.processes) {
        if (!Responds(process)) sum = Plus(sum, Held(process, Place::kDevice));
      }
      out_.Add(gpu, sum);
    });
    out_.Begin("vramspan_fairness_jain", "gauge",
               "Jain's index of what part of their targets tenants are granted. 1: all the same.");
    EachDevice([&](const std::string& gpu, const Device& device) {
      out_.Add(gpu, Fairness(rows_, device));
    });
  }

  void OfPolicies() {
    EachTenant(
        "vramspan_tenant_weight", "gauge", "The tenant's weight among those beside it.",
        [&](const TenantRow& row) { out_.Add(row.labels, uint64_t{row.account->policy.weight}); });
    EachTenant("vramspan_tenant_drained", "gauge",
               "1 where the tenant drains: itself, with one around it, or with everybody.",
               [&](const TenantRow& row) {
                 out_.Add(row.labels, uint64_t{facts_.accounts.Drains(*row.account)});
               });
    EachTenant("vramspan_tenant_share_bytes", "gauge",
               "What the tenant is due, and granted. No limit: none is shown.",
               [&](const TenantRow& row) {
                 for (const Place place : kPlaces) ShareOf(row, place);
               });
  }

  void ShareOf(const TenantRow& row, Place place) {
    const auto add = [&](std::string_view bound, Bytes bytes) {
      out_.Add(Joined(row.labels, LabelText({{"place", PlaceName(place)}, {"bound", bound}})),
               bytes);
    };
    const Policy& policy = row.account->policy;
    const Amounts& amounts = row.amounts[place];
    add("guarantee", policy.guarantee[place]);
    if (policy.limit[place] != kAllBytes) add("limit", policy.limit[place]);
    add("target", amounts.target);
    add("granted", amounts.granted);
    add("demand", amounts.demand);
  }

  void OfTenants() {
    EachTenant("vramspan_tenant_memory_bytes", "gauge",
               "Memory that the tenant's processes say they use, and that they have for contexts.",
               [&](const TenantRow& row) {
                 const auto add = [&](Place place, std::string_view kind, Bytes bytes) {
                   out_.Add(
                       Joined(row.labels, LabelText({{"place", PlaceName(place)}, {"kind", kind}})),
                       bytes);
                 };
                 add(Place::kDevice, "used", row.amounts[Place::kDevice].used);
                 add(Place::kDevice, "room", row.room);
                 add(Place::kHost, "used", row.amounts[Place::kHost].used);
               });
    EachTenant("vramspan_tenant_seen_bytes", "gauge",
               "Device memory of the tenant's processes, as NVML shows it.",
               [&](const TenantRow& row) {
                 if (facts_.sees_use) out_.Add(row.labels, row.seen);
               });
    EachTenant("vramspan_overrun_bytes", "gauge",
               "Device memory beyond what the tenant's processes may hold.",
               [&](const TenantRow& row) {
                 if (facts_.sees_use) out_.Add(row.labels, row.overrun);
               });
    EachTenant(
        "vramspan_tenant_processes", "gauge", "Processes of the tenant, by their state.",
        [&](const TenantRow& row) {
          for (size_t i = 0; i < kProcessStates; ++i) {
            out_.Add(Joined(row.labels, LabelText({{"state", StateName(i)}})), row.states[i]);
          }
        });
    EachTenant("vramspan_tenant_stall_seconds_total", "counter",
               "How long launches have waited for memory, as processes say.",
               [&](const TenantRow& row) { out_.Add(row.labels, row.tally.stalled); });
  }

  void OfRecalls() {
    EachTenant("vramspan_tenant_recalled_bytes_total", "counter",
               "What the tenant's processes gave back when it was recalled.",
               [&](const TenantRow& row) {
                 for (const Place place : kPlaces) {
                   out_.Add(Joined(row.labels, LabelText({{"place", PlaceName(place)}})),
                            row.tally.given[place]);
                 }
               });
    EachTenant("vramspan_tenant_moved_bytes_total", "counter",
               "What of that was to be copied to the host first. Other moves are not known.",
               [&](const TenantRow& row) {
                 out_.Add(
                     Joined(row.labels, LabelText({{"direction", "out"}, {"cause", "recall"}})),
                     row.tally.moved);
               });
    EachTenant("vramspan_recalls_total", "counter", "Recalls that were answered.",
               [&](const TenantRow& row) {
                 for (size_t i = 0; i < kResults.size(); ++i) {
                   out_.Add(Joined(row.labels, LabelText({{"result", kResults[i]}})),
                            row.tally.answers[i]);
                 }
               });
    out_.Begin("vramspan_recall_seconds", "histogram", "How long answers to recalls took.");
    EachDevice([&](const std::string& gpu, const Device& device) {
      const RecallTimes& times = device.recall_times;
      uint64_t sum = 0;
      for (size_t i = 0; i < times.counts.size(); ++i) {
        sum += times.counts[i];
        const bool last = i == RecallTimes::kUpTo.size();
        out_.AddPart("_bucket", Joined(gpu, last ? "le=\"+Inf\"" : kBounds[i]), sum);
      }
      out_.AddPart("_sum", gpu, times.sum);
      out_.AddPart("_count", gpu, sum);
    });
  }

  void OfProcesses() {
    out_.Begin("vramspan_process_memory_bytes", "gauge",
               "What a process is due and granted, and says that it uses and wants beside.");
    for (const ProcessRow& row : rows_.processes) {
      for (const Place place : kPlaces) {
        const Amounts& amounts = row.amounts[place];
        const auto add = [&](std::string_view kind, Bytes bytes) {
          out_.Add(Joined(row.labels, LabelText({{"place", PlaceName(place)}, {"kind", kind}})),
                   bytes);
        };
        add("target", amounts.target);
        add("granted", amounts.granted);
        add("used", amounts.used);
        add("wanted", amounts.wanted);
      }
    }
  }

  void EachDevice(const auto& print) {
    for (const auto& [uuid, device] : facts_.devices) {
      print(LabelText({{"gpu", device.name}}), device);
    }
  }
  void EachTenant(std::string_view name, std::string_view type, std::string_view help,
                  const auto& print) {
    out_.Begin(name, type, help);
    for (const TenantRow& row : rows_.tenants) print(row);
  }

  // RecallTimes::kUpTo, as Prometheus has it.
  static constexpr std::array<std::string_view, 8> kBounds = {
      "le=\"0.005\"", "le=\"0.01\"", "le=\"0.025\"", "le=\"0.05\"",
      "le=\"0.1\"",   "le=\"0.25\"", "le=\"0.5\"",   "le=\"2.5\""};
  static_assert(kBounds.size() == RecallTimes::kUpTo.size());

  const MetricsFacts& facts_;
  const MetricsRows rows_;
  Exposition out_;
};

}  // namespace

std::string MetricsText(const MetricsFacts& facts) { return Text(facts).Make(); }

}  // namespace vramspan::broker
