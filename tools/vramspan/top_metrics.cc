#include "tools/vramspan/top_metrics.h"

#include <absl/strings/str_cat.h>

#include <chrono>
#include <set>

#include "tools/metrics/exposition.h"

namespace vramspan::top {
namespace {

using metrics::Exposition;
using metrics::Joined;
using metrics::LabelText;

// Processes of two containers may have the same number: those of one namespace alone are told, the
// one that this process sees.
std::vector<const Row*> Told(const std::vector<Row>& rows) {
  std::set<std::string> labels;
  std::vector<const Row*> told;
  for (const Row& row : rows) {
    const std::string key = absl::StrCat(row.seen.record.pid, " ", row.seen.uuid);
    if (!row.seen.elsewhere && labels.insert(key).second) told.push_back(&row);
  }
  return told;
}

class Text {
 public:
  Text(const std::vector<Row>& rows, double since_1970) : rows_(Told(rows)), now_(since_1970) {}

  std::string Make() {
    out_.Begin("vramspan_processes", "gauge", "Processes and devices that are told of here.");
    out_.Add("", static_cast<uint64_t>(rows_.size()));
    Each("vramspan_process_device_bytes", "gauge", "Data in device memory.",
         [](const Row& row) { return Bytes(row.resident); });
    Each("vramspan_process_host_bytes", "gauge", "Data in host memory.",
         [](const Row& row) { return Bytes(row.on_host); });
    Each("vramspan_process_device_budget_bytes", "gauge", "The device budget.",
         [](const Row& row) { return Bytes(row.seen.record.device_budget); });
    Moved();
    Decided();
    Each("vramspan_process_in_place_bytes_total", "counter",
         "What work used in host memory, at most.",
         [](const Row& row) { return Bytes(row.seen.record.bytes_in_place); });
    Each("vramspan_process_waited_seconds_total", "counter",
         "How long the first launch in line waited for copies or remaps.", [](const Row& row) {
           return (static_cast<double>(row.seen.record.stall_copy_ns) +
                   static_cast<double>(row.seen.record.stall_vmm_ns)) /
                  1e9;
         });
    Launches();
    Each("vramspan_process_link_bytes_per_second", "gauge",
         "What the device moves each way while as much goes the other.",
         [](const Row& row) { return static_cast<double>(row.seen.record.move_mb_per_s) * 1e6; });
    Each("vramspan_process_in_place_bytes_per_second", "gauge",
         "What the device's work reads or writes of host memory in place.",
         [](const Row& row) { return static_cast<double>(row.seen.record.serve_mb_per_s) * 1e6; });
    Each("vramspan_process_start_time_seconds", "gauge",
         "When it began to use vramspan, since 1970.", [this](const Row& row) {
           // Not as a double, of which too few digits are printed.
           return std::chrono::duration_cast<Duration>(
               std::chrono::duration<double>(now_ - row.running));
         });
    return out_.Take();
  }

 private:
  static std::string Labels(const Row& row) {
    return LabelText({{"gpu", row.seen.uuid},
                      {"pid", absl::StrCat(row.seen.record.pid)},
                      {"program", row.seen.program}});
  }

  template <typename ValueOf>
  void Each(std::string_view name, std::string_view type, std::string_view help, ValueOf value_of) {
    out_.Begin(name, type, help);
    for (const Row* row : rows_) out_.Add(Labels(*row), value_of(*row));
  }

  void Moved() {
    out_.Begin("vramspan_process_moved_bytes_total", "counter", "What was copied.");
    for (const Row* row : rows_) {
      const LiveRecord& r = row->seen.record;
      out_.Add(Joined(Labels(*row), LabelText({{"direction", "in"}})), Bytes(r.bytes_in));
      out_.Add(Joined(Labels(*row), LabelText({{"direction", "out"}})), Bytes(r.bytes_out));
    }
  }

  void Decided() {
    out_.Begin("vramspan_process_decided_bytes_total", "counter",
               "Memory that has changed sides, by the reason.");
    for (const Row* row : rows_) {
      for (uint32_t i = 0; i < kMoveCauses; ++i) {
        out_.Add(Joined(Labels(*row), LabelText({{"cause", TextOf(i).cause}})),
                 Bytes(row->seen.record.moved[i].bytes));
      }
    }
  }

  void Launches() {
    out_.Begin("vramspan_process_launches_total", "counter",
               "Launches that were traced, by how far their code is trusted.");
    for (const Row* row : rows_) {
      const LiveRecord& r = row->seen.record;
      const auto add = [&](std::string_view trust, uint64_t launches) {
        out_.Add(Joined(Labels(*row), LabelText({{"trust", trust}})), launches);
      };
      add("proven", r.launches_proven);
      add("plausible", r.launches_plausible);
      add("untried", r.launches_untried);
    }
  }

  const std::vector<const Row*> rows_;
  const double now_;
  Exposition out_;
};

}  // namespace

std::string Metrics(const std::vector<Row>& rows, double since_1970) {
  return Text(rows, since_1970).Make();
}

}  // namespace vramspan::top
