#include "tools/vramspan/top_json.h"

#include <nlohmann/json.hpp>

namespace vramspan::top {
namespace {

using Object = nlohmann::ordered_json;

double Ago(uint64_t then, uint64_t now) {
  return now > then ? static_cast<double>(now - then) / 1e9 : 0;
}

Object Process(const Row& row, uint64_t now) {
  const LiveRecord& r = row.seen.record;
  Object process = {
      {"pid", r.pid},
      {"elsewhere", row.seen.elsewhere},
      {"gpu", r.ordinal},
      {"uuid", row.seen.uuid},
      {"device", row.seen.device},
      {"device_memory", r.device_memory},
      {"program", row.seen.program},
      {"command", row.seen.command},
      {"resident", row.resident},
      {"on_host", row.on_host},
      {"in_per_second", row.rates.in},
      {"out_per_second", row.rates.out},
      {"in_place_per_second", row.rates.in_place},
      {"link_per_second", r.move_mb_per_s * 1'000'000},
      {"link_measured", (r.flags & LiveRecord::kPricesMeasured) != 0},
      {"link_in", row.rates.link_in},
      {"link_out", row.rates.link_out},
      {"link_in_place", row.rates.link_in_place},
      {"waiting", row.rates.waiting},
      {"slowdown", row.slowdown()},
      {"trusted", row.rates.trusted.has_value() ? Object(*row.rates.trusted) : Object()},
      {"traced", (r.flags & LiveRecord::kTraced) != 0},
      {"was_short", (r.flags & LiveRecord::kWasShort) != 0},
      {"running", row.running},
      {"silent", row.silent},
  };
  Object& counters = process["counters"] = Object::object();
#define VS_FIELD(name) counters[#name] = r.name;
  VRAMSPAN_LIVE_COUNTERS(VS_FIELD)
#undef VS_FIELD
  Object& decisions = process["decisions"] = Object::array();
  for (const LiveDecision& d : Decisions(r)) {
    const DecisionText text = TextOf(d.what);
    decisions.push_back({{"what", text.what},
                         {"why", text.why},
                         {"cause", text.cause},
                         {"count", d.count},
                         {"bytes", d.bytes},
                         {"began_ago", Ago(d.from, now)},
                         {"ended_ago", Ago(d.until, now)}});
  }
  return process;
}

}  // namespace

std::string Json(const std::vector<Row>& rows, const std::vector<std::string>& notes, uint64_t now,
                 bool lines) {
  Object report = {{"schema", "vramspan.top"},
                   {"schema_version", 1},
                   {"processes", Object::array()},
                   {"notes", notes}};
  for (const Row& row : rows) report["processes"].push_back(Process(row, now));
  return report.dump(lines ? 2 : -1, ' ', true, Object::error_handler_t::replace) + "\n";
}

}  // namespace vramspan::top
