// `vramspan top`: the programs of this user that run under vramspan, while they run.
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/clean_text.h"
#include "tools/metrics/textfile.h"
#include "tools/vramspan/command.h"
#include "tools/vramspan/top_json.h"
#include "tools/vramspan/top_live.h"
#include "tools/vramspan/top_metrics.h"
#include "tools/vramspan/top_records.h"
#include "tools/vramspan/top_rows.h"
#include "tools/vramspan/top_table.h"

namespace vramspan {
namespace {

constexpr char kWho[] = "vramspan top";
// Records are not written more often.
constexpr double kLeastInterval = 0.5, kMostInterval = 3600;

class TopCommand final : public Command {
 public:
  std::string name() const override { return "top"; }
  std::string summary() const override {
    return "Show programs while they run: memory, moves, waits, and why";
  }

  void Define(CommandOptions& options) override {
    options.Option("pids", pids_, "The processes to show, by number (default: all of this user)");
    options.Flag("--once", once_, "Print one table, over the next interval, and end");
    options
        .Option("--interval", interval_,
                "The seconds between two looks, 0.5 or more (default: 1, and 15 for --metrics)")
        .Shown("SECONDS");
    options
        .Option("--format", format_,
                "How the result is printed; json is an object a line until it is ended")
        .OneOf({"table", "json"})
        .ShowDefault();
    options
        .Option("--metrics", metrics_,
                "Print nothing: write FILE.prom for Prometheus, until it is ended")
        .Shown("FILE.prom");
    options.Footer(
        "Memory is as it is now, and rates are over the time since the last look. LINK% is the "
        "busier way's bytes, of what the device moves each way while as much goes the other: as "
        "`vramspan info` measured it, or ~ where it has not. WAIT% is the part of the time in "
        "which the first launch in line waited for memory, and SLOW what that makes of the "
        "program. Both are estimates. TRUST is the part of launches whose code is proven.\n"
        "Keys: arrows, j and k choose; Enter shows decisions; s or F6 sorts; p or space holds the "
        "picture; h shows the keys; q ends. If stdout is no terminal, --once is meant.\n"
        "A program with VRAMSPAN_TOP=off is not shown.\n"
        "\n"
        "Exit status\n"
        "  0  shown\n"
        "  1  a process that was named shows nothing of itself\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan top\n"
        "  vramspan top --once --format json\n"
        "  vramspan top --once --metrics vramspan.prom   # without --once each 15 s\n"
        "\n"
        "Read more: docs/top.md");
  }

  int Run() override {
    if (!Parse()) return kExitUsage;
    if (metrics_.has_value()) return WriteMetrics();
    if (once_) return Once();
    if (format_ == "json") return Stream();
    if (const int missing = Missing(Look()); missing != kExitOk) return missing;
    const Status shown =
        top::ShowLive([this](top::View* view) { view->Show(Look(), notes_, now_); }, each_);
    if (shown.ok()) return kExitOk;
    SayError(kWho, shown.message());
    return kExitFailure;
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool Parse() {
    const std::string interval = interval_.value_or(metrics_.has_value() ? "15" : "1");
    double seconds = 0;
    if (!absl::SimpleAtod(interval, &seconds) || !(seconds >= kLeastInterval) ||
        seconds > kMostInterval) {
      SayError(kWho, absl::StrCat("--interval: '", Repeated(interval),
                                  "' is not a number of seconds from 0.5 to 3600"));
      return false;
    }
    each_ = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    for (const std::string& word : pids_) {
      uint32_t pid = 0;
      if (!absl::SimpleAtoi(word, &pid) || pid == 0 || pid > INT32_MAX) {
        SayError(kWho, absl::StrCat("'", Repeated(word), "' is not the number of a process"));
        return false;
      }
      wanted_.insert(pid);
    }
    if (metrics_.has_value()) {
      const Status good = metrics::CheckTextfile("--metrics", *metrics_);
      if (!good.ok()) SayError(kWho, good.message());
      return good.ok();
    }
    once_ |= format_ == "table" && isatty(STDOUT_FILENO) == 0;
    return true;
  }

  // What is found now, of the processes that are wanted.
  std::vector<top::Row> Look() {
    top::Found found = top::Find(top::Places());
    notes_ = std::move(found.notes);
    std::erase_if(found.seen, [this](const top::Seen& seen) {
      return !wanted_.empty() && wanted_.count(seen.record.pid) == 0;
    });
    now_ = top::SteadyNow();
    return samples_.Next(std::move(found.seen), now_);
  }

  int Once() {
    if (const int missing = Missing(Look()); missing != kExitOk) return missing;
    std::this_thread::sleep_for(each_);
    const std::vector<top::Row> rows = Look();
    if (format_ == "json") {
      std::cout << top::Json(rows, notes_, now_, /*lines=*/true);
    } else {
      for (const std::string& note : notes_) SayError(kWho, note);
      std::cout << top::Table(rows, /*decisions=*/!wanted_.empty(), now_);
    }
    return kExitOk;
  }

  // Until the processes that were named have ended, or nobody reads.
  int Stream() {
    if (const int missing = Missing(Look()); missing != kExitOk) return missing;
    while (true) {
      std::this_thread::sleep_for(each_);
      const std::vector<top::Row> rows = Look();
      std::cout << top::Json(rows, notes_, now_, /*lines=*/false);
      if (!std::cout.flush()) return kExitFailure;
      if (!wanted_.empty() && rows.empty()) return kExitOk;
    }
  }

  // Until a signal ends it. What cannot be written may be later: that is said when it changes.
  int WriteMetrics() {
    for (std::string said;;) {
      const std::vector<top::Row> rows = Look();
      const std::chrono::duration<double> since_1970 =
          std::chrono::system_clock::now().time_since_epoch();
      const Status written = metrics::WriteTextfile(*metrics_, {kWho, top::kMetricsMark},
                                                    top::Metrics(rows, since_1970.count()));
      if (written.message() != said)
        SayError(kWho, written.ok() ? "it is written again" : written.message());
      said = std::string(written.message());
      if (once_) return written.ok() ? kExitOk : kExitFailure;
      std::this_thread::sleep_for(each_);
    }
  }

  // Whether none of those that were named is there.
  int Missing(const std::vector<top::Row>& rows) const {
    if (wanted_.empty() || !rows.empty()) return kExitOk;
    for (const std::string& note : notes_) SayError(kWho, note);
    SayError(kWho,
             absl::StrCat("process ", *wanted_.begin(), wanted_.size() > 1 ? " and others" : "",
                          ": it does not run under vramspan here as this user, has no memory "
                          "yet, or has VRAMSPAN_TOP=off"));
    return kExitFailure;
  }

  std::vector<std::string> pids_;
  bool once_ = false;
  std::optional<std::string> interval_, metrics_;
  std::string format_ = "table";
  std::set<uint32_t> wanted_;
  Clock::duration each_{};
  top::Samples samples_;
  std::vector<std::string> notes_;
  uint64_t now_ = 0;
};

VRAMSPAN_COMMAND(TopCommand);

}  // namespace
}  // namespace vramspan
