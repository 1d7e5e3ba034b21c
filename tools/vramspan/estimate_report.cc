#include "tools/vramspan/estimate_report.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/base/clean_text.h"
#include "tools/replay/replay_all.h"
#include "tools/replay/rounds.h"
#include "tools/vramspan/demo_text.h"

namespace vramspan::estimate {
namespace {

using OrderedJson = nlohmann::ordered_json;
using replay::ReplayResult;

constexpr size_t kLongestProgram = 120;

double SlowdownOf(const ReplayResult& r) {
  if (r.repeated != 0 && r.resident_repeated != 0) {
    return static_cast<double>(r.repeated) / static_cast<double>(r.resident_repeated);
  }
  return replay::Slowdown(r);
}

// Rows of one place, which have their memory and know their prices.
void Replay(const replay::RecordedRun& run, const replay::ReplayPrices& prices,
            replay::ReplayOverlap overlap, unsigned threads, std::vector<Row>* rows) {
  std::vector<replay::ReplaySetting> settings;
  for (Row& row : *rows) {
    settings.push_back({.device_memory = row.device_memory, .overlap = overlap});
    const Bytes peak = run.PeakBytes();
    row.spills = peak > row.device_memory ? peak - row.device_memory : Bytes(0);
  }
  const auto results = replay::ReplayAll(run, prices, settings, threads, [](size_t) {});
  for (size_t i = 0; i < rows->size(); ++i) (*rows)[i].slowdown = SlowdownOf(results[i]);
}

std::string MemoryText(const Row& row) {
  const std::string size = demo::SizeText(row.device_memory);
  return row.percent.has_value() ? absl::StrFormat("%s (%g %%)", size, *row.percent) : size;
}

}  // namespace

StatusOr<Report> Estimate(const replay::RecordedRun& run, const Question& question) {
  Report report;
  report.program = run.setting.program;
  report.device = run.setting.device;
  report.peak = run.PeakBytes();
  report.seconds = static_cast<double>(run.Duration()) / 1e9;
  report.rounds = replay::Phases(run).main().count();
  VS_ASSIGN_OR_RETURN(const replay::PricesOfDevice here, replay::PricesFor("", run));
  report.prices = here.source;
  VS_ASSIGN_OR_RETURN(const std::vector<replay::ReplayOverlap> overlaps,
                      replay::OverlapsFor("", run));
  std::vector<Row> rows;
  for (const replay::Budget& budget : question.budgets) {
    rows.push_back({.where = "here",
                    .device_memory = budget.bytes,
                    .percent = budget.percent,
                    .link_gb_per_s = here.prices.copy_in});
  }
  Replay(run, here.prices, overlaps.front(), question.threads, &rows);
  report.rows = std::move(rows);
  for (const cards::Card& card : question.cards) {
    const double link = question.link_gb_per_s.value_or(card.link->gb_per_s);
    std::vector<Row> row = {
        {.where = card.name, .device_memory = cards::Budget(card), .link_gb_per_s = link}};
    Replay(run, cards::PricesOf(card, link), overlaps.front(), question.threads, &row);
    report.rows.push_back(std::move(row.front()));
  }
  return report;
}

std::string ToTable(const Report& report) {
  std::string out = absl::StrFormat(
      "%s: %.2f s recorded%s, at most %s at once%s\n\n", CleanText(report.program, kLongestProgram),
      report.seconds, report.device.empty() ? "" : absl::StrCat(" on ", CleanText(report.device)),
      demo::SizeText(report.peak),
      report.rounds != 0 ? absl::StrFormat(", %d rounds", report.rounds) : ", no rounds found");
  absl::StrAppendFormat(&out, "%-15s %-20s %12s %10s %9s\n", "where", "device memory", "spills",
                        "link GB/s", "slowdown");
  for (const Row& row : report.rows) {
    absl::StrAppendFormat(&out, "%-15s %-20s %12s %10.1f %8.2fx\n", row.where, MemoryText(row),
                          row.spills == Bytes(0) ? "-" : demo::SizeText(row.spills),
                          row.link_gb_per_s, row.slowdown);
  }
  absl::StrAppend(
      &out,
      "\nslowdown: against the same kernels with all memory on the device. Kernels take "
      "as long as they did where they were recorded; of a card its memory and its link "
      "are taken, and an H100's driver calls.\nhere: prices are ",
      report.prices, ".\n");
  return out;
}

std::string ToJson(const Report& report) {
  OrderedJson rows = OrderedJson::array();
  for (const Row& row : report.rows) {
    rows.push_back({{"where", row.where},
                    {"device_memory_bytes", row.device_memory.value},
                    {"percent_of_peak",
                     row.percent.has_value() ? OrderedJson(*row.percent) : OrderedJson(nullptr)},
                    {"link_gb_per_s", row.link_gb_per_s},
                    {"spills_bytes", row.spills.value},
                    {"slowdown", row.slowdown}});
  }
  const OrderedJson json = {{"schema", "vramspan.estimate"},   {"schema_version", 1},
                            {"program", report.program},       {"device", report.device},
                            {"peak_bytes", report.peak.value}, {"recorded_seconds", report.seconds},
                            {"rounds", report.rounds},         {"prices", report.prices},
                            {"estimates", std::move(rows)}};
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace vramspan::estimate
