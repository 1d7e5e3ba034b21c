#include "tools/vramspan/top_table.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "tools/vramspan/amount_text.h"

namespace vramspan::top {
namespace {

std::string RateText(double bytes) {
  if (bytes < 1) return "0";
  if (bytes >= 9.995e8) return absl::StrFormat("%.1fG", bytes / 1e9);
  if (bytes >= 9.995e5) return absl::StrFormat("%.0fM", bytes / 1e6);
  return absl::StrFormat("%.0fK", std::max(bytes / 1e3, 1.0));
}

std::string ShortSize(uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes >= uint64_t{1} << 40) return absl::StrFormat("%.1fT", value / (uint64_t{1} << 40));
  if (bytes >= uint64_t{10} << 30) return absl::StrFormat("%.1fG", value / (1 << 30));
  return absl::StrFormat("%.0fM", value / (1 << 20));
}

std::string Percent(double part) { return absl::StrFormat("%.0f", std::min(part * 100, 9999.0)); }

std::string Clock(double seconds) {
  const auto whole = static_cast<uint64_t>(std::min(seconds, 1e9));
  if (whole >= 36000) return absl::StrFormat("%dh%02d", whole / 3600, whole / 60 % 60);
  return absl::StrFormat("%d:%02d", whole / 60, whole % 60);
}

std::string Line(std::string_view pid, std::string_view gpu, std::string_view resident,
                 std::string_view host, std::string_view budget, std::string_view in,
                 std::string_view out, std::string_view link, std::string_view wait,
                 std::string_view slow, std::string_view trust, std::string_view time,
                 std::string_view command) {
  return absl::StrFormat("%8s %3s %7s %7s %7s %7s %7s %6s %5s %6s %5s %7s %s", pid, gpu, resident,
                         host, budget, in, out, link, wait, slow, trust, time, command);
}

double ValueOf(Column column, const Row& row) {
  switch (column) {
    case Column::kPid:
      return -static_cast<double>(row.seen.record.pid);
    case Column::kResident:
      return static_cast<double>(row.resident);
    case Column::kHost:
      return static_cast<double>(row.on_host);
    case Column::kIn:
      return row.rates.in;
    case Column::kOut:
      return row.rates.out;
    case Column::kLink:
      return row.link();
    case Column::kWait:
      return row.rates.waiting;
    case Column::kTime:
      return row.running;
  }
  return 0;
}

}  // namespace

const char* Title(Column column) {
  constexpr const char* kTitles[kColumns] = {"PID",   "RES",   "HOST",  "IN/s",
                                             "OUT/s", "LINK%", "WAIT%", "TIME"};
  return kTitles[static_cast<int>(column)];
}

void Sort(Column by, std::vector<Row>* rows) {
  std::stable_sort(rows->begin(), rows->end(),
                   [by](const Row& a, const Row& b) { return ValueOf(by, a) > ValueOf(by, b); });
}

std::vector<std::string> DeviceLines(const std::vector<Row>& rows) {
  struct Sums {
    const Row* row = nullptr;
    uint64_t resident = 0, on_host = 0;
    double in = 0, out = 0;
  };
  std::map<std::pair<int64_t, std::string>, Sums> devices;
  for (const Row& row : rows) {
    Sums& sums = devices[{row.seen.record.ordinal, row.seen.uuid}];
    sums.row = &row;
    sums.resident += row.resident;
    sums.on_host += row.on_host;
    sums.in += row.rates.in;
    sums.out += row.rates.out;
  }
  std::vector<std::string> lines;
  for (const auto& [key, sums] : devices) {
    lines.push_back(
        absl::StrFormat("GPU %d %s: %s of %s hold data, %s more lie on the host; in %s/s, out %s/s",
                        key.first, sums.row->seen.device, SizeText(sums.resident),
                        SizeText(sums.row->seen.record.device_memory), SizeText(sums.on_host),
                        RateText(sums.in), RateText(sums.out)));
  }
  return lines;
}

std::string TitleLine() {
  return Line("PID", "GPU", "RES", "HOST", "BUDGET", "IN/s", "OUT/s", "LINK%", "WAIT%", "SLOW",
              "TRUST", "TIME", "COMMAND");
}

std::string RowLine(const Row& row) {
  const LiveRecord& r = row.seen.record;
  const bool measured = (r.flags & LiveRecord::kPricesMeasured) != 0;
  return Line(absl::StrCat(r.pid, row.seen.elsewhere ? "'" : ""), absl::StrCat(r.ordinal),
              ShortSize(row.resident), ShortSize(row.on_host), ShortSize(r.device_budget),
              RateText(row.rates.in), RateText(row.rates.out),
              absl::StrCat(measured ? "" : "~", Percent(row.link())), Percent(row.rates.waiting),
              absl::StrFormat("%.2fx", row.slowdown()),
              row.rates.trusted.has_value() ? absl::StrCat(Percent(*row.rates.trusted), "%") : "-",
              Clock(row.running), row.seen.command);
}

std::vector<std::string> DecisionLines(const Row& row, uint64_t now) {
  std::vector<std::string> lines;
  for (const LiveDecision& d : Decisions(row.seen.record)) {
    const DecisionText text = TextOf(d.what);
    const uint64_t ago = now > d.until ? now - d.until : 0;
    const bool budget = d.what == static_cast<uint32_t>(LiveWhat::kBudget);
    lines.push_back(absl::StrFormat(
        "%8s ago  %-13s %9s  %-7s %s", Clock(static_cast<double>(ago) / 1e9), text.what,
        d.bytes == 0 ? "" : SizeText(d.bytes), budget ? "" : absl::StrCat(d.count, "x"), text.why));
  }
  if (lines.empty()) lines.emplace_back("         nothing has been decided yet: memory suffices");
  return lines;
}

std::string Clip(std::string_view text, size_t columns) {
  size_t characters = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    // What continues a character is no other.
    if ((static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) continue;
    if (characters++ == columns) return std::string(text.substr(0, i));
  }
  return std::string(text);
}

std::string Table(const std::vector<Row>& rows, bool decisions, uint64_t now) {
  if (rows.empty()) return "no program of this user runs under vramspan, or none has memory yet\n";
  std::string text;
  for (const std::string& line : DeviceLines(rows)) absl::StrAppend(&text, line, "\n");
  absl::StrAppend(&text, "\n", TitleLine(), "\n");
  for (const Row& row : rows) absl::StrAppend(&text, RowLine(row), "\n");
  for (const Row& row : rows) {
    if (!decisions) break;
    absl::StrAppend(&text, "\nProcess ", row.seen.record.pid, " on GPU ", row.seen.record.ordinal,
                    ", last decisions:\n");
    for (const std::string& line : DecisionLines(row, now)) absl::StrAppend(&text, line, "\n");
  }
  return text;
}

}  // namespace vramspan::top
