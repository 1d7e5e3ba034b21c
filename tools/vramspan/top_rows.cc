#include "tools/vramspan/top_rows.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/mover/showing.h"

namespace vramspan::top {
namespace {

constexpr double kSecond = 1e9;
// Beyond that a slowdown says nothing.
constexpr double kMostSlowdown = 99;
constexpr auto kEach = static_cast<uint64_t>(std::chrono::nanoseconds(Showing::kEach).count());

// Counters do not go back, but what stands in a file may.
double Since(uint64_t before, uint64_t now) {
  return now > before ? static_cast<double>(now - before) : 0;
}

double Waited(const LiveRecord& r) {
  return static_cast<double>(r.stall_copy_ns) + static_cast<double>(r.stall_vmm_ns);
}

// Over the time from `from` to the later record.
Rates RatesOf(const LiveRecord& before, const LiveRecord& now, uint64_t from) {
  Rates rates;
  if (now.written <= from) return rates;
  const double seconds = static_cast<double>(now.written - from) / kSecond;
  rates.in = Since(before.bytes_in, now.bytes_in) / seconds;
  rates.out = Since(before.bytes_out, now.bytes_out) / seconds;
  rates.in_place = Since(before.bytes_in_place, now.bytes_in_place) / seconds;
  if (now.move_mb_per_s != 0) {
    const double link = static_cast<double>(now.move_mb_per_s) * 1e6;
    rates.link_in = rates.in / link;
    rates.link_out = rates.out / link;
  }
  if (now.serve_mb_per_s != 0) {
    rates.link_in_place = rates.in_place / (static_cast<double>(now.serve_mb_per_s) * 1e6);
  }
  rates.waiting = std::clamp((Waited(now) - Waited(before)) / kSecond / seconds, 0.0, 1.0);
  const double proven = Since(before.launches_proven, now.launches_proven);
  const double all = proven + Since(before.launches_plausible, now.launches_plausible) +
                     Since(before.launches_untried, now.launches_untried);
  if (all > 0) rates.trusted = proven / all;
  return rates;
}

}  // namespace

double Row::link() const { return std::max(rates.link_in, rates.link_out) + rates.link_in_place; }

double Row::slowdown() const {
  const double lost = rates.waiting + rates.link_in_place;
  return std::min(1 / std::max(1 - lost, 1e-9), kMostSlowdown);
}

std::vector<Row> Samples::Next(std::vector<Seen> found, uint64_t now) {
  std::map<Key, Sample> samples;
  std::vector<Row> rows;
  for (Seen& seen : found) {
    const LiveRecord& r = seen.record;
    const Key key{r.space, r.pid, r.start, r.image, r.serial};
    Sample sample{r, now, {}};
    if (const auto known = before_.find(key); known != before_.end()) {
      const Sample& before = known->second;
      if (before.record.written == r.written) {
        sample = before;
        if (now > r.written && now - r.written > kStale) sample.rates = {};
      } else {
        // What was silent until it was read last has begun since.
        const uint64_t quiet = before.at > kEach ? before.at - kEach : 0;
        sample.rates = RatesOf(before.record, r, std::max(before.record.written, quiet));
      }
    }
    // Unchanged, it is as when it was read last.
    sample.at = now;
    Row row;
    // What was freed may be held until the work before it has ended.
    row.resident = std::min(r.device_used, r.charged_bytes);
    const uint64_t beyond = r.charged_bytes > r.device_used ? r.charged_bytes - r.device_used : 0;
    row.on_host = std::min(beyond, r.host_used);
    row.rates = sample.rates;
    row.running = Since(r.began, now) / kSecond;
    row.silent = Since(r.written, now) / kSecond;
    row.seen = std::move(seen);
    samples[key] = std::move(sample);
    rows.push_back(std::move(row));
  }
  before_ = std::move(samples);
  return rows;
}

DecisionText TextOf(uint32_t what) {
  static constexpr std::array<DecisionText, kLiveWhats> kTexts = {{
      {"fetched", "launches that wait need it", "needed"},
      {"fetched", "launches that are expected next need it", "expected"},
      {"fetched", "it is used often, and nothing else was to do", "idle"},
      {"fetched", "the program asked for it", "asked_in"},
      {"evicted", "to make room for what launches that wait need", "room"},
      {"evicted", "to make room for what is expected next", "room_ahead"},
      {"evicted", "more was used than the budget allows", "over_budget"},
      {"evicted", "the program asked for it", "asked_out"},
      {"used in place", "it costs less than moving, or there was no room", "in_place"},
      {"let go", "launches had waited too long", "deadline"},
      {"failed", "a call of the driver's failed; the memory stayed where it was", "failed"},
      {"budget", "it became another", "budget"},
  }};
  return what < kTexts.size() ? kTexts[what] : DecisionText{"?", "it is not known here", "unknown"};
}

std::vector<LiveDecision> Decisions(const LiveRecord& record) {
  std::vector<LiveDecision> decisions;
  for (const LiveDecision& d : record.decisions) {
    if (d.until != 0 && d.until >= d.from) decisions.push_back(d);
  }
  std::sort(decisions.begin(), decisions.end(),
            [](const LiveDecision& a, const LiveDecision& b) { return a.until > b.until; });
  return decisions;
}

}  // namespace vramspan::top
