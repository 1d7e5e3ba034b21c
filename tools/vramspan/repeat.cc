// `vramspan repeat`: would this build decide as the one did whose events are recorded?
#include <absl/strings/str_format.h>

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/replay/repeat_events.h"
#include "tools/vramspan/command.h"

namespace vramspan {
namespace {

using replay::RepeatedEvents;

class RepeatCommand final : public Command {
 public:
  std::string name() const override { return "repeat"; }
  std::string summary() const override {
    return "Whether this build decides as a recorded run did, event by event";
  }

  void Define(CommandOptions& options) override {
    options.Option("events", file_, "A file that `vramspan run --record-events` wrote")
        .Required()
        .Shown("FILE");
    options.Option("--format", format_, "text or json").OneOf({"text", "json"}).ShowDefault();
    options.Footer(
        "Whoever changes a rule of the scheduler sees what a live run would have decided\n"
        "otherwise. The scheduler of this build is told each event with its time. Its answers are\n"
        "compared: each action with its work, chunk and move, and each answer to a thread. The\n"
        "command ends at the first difference. It needs no GPU.\n"
        "\n"
        "Exit status\n"
        "  0  all answers are the same\n"
        "  1  an answer differs, or the file is damaged\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan run --record-events out.events -- python3 train.py\n"
        "  vramspan repeat out.events\n"
        "  vramspan repeat --format json out.events\n"
        "\n"
        "Read more: docs/events-format.md, docs/scheduler.md");
  }

  int Run() override {
    const StatusOr<RepeatedEvents> repeated = replay::RepeatEvents(file_);
    if (!repeated.ok()) {
      SayError("vramspan repeat", repeated.status().message());
      return kExitFailure;
    }
    format_ == "json" ? SayJson(*repeated) : SayText(*repeated);
    if (!repeated->damage.empty()) {
      SayError("vramspan repeat",
               file_ + ": " + repeated->damage + "; what comes behind it was not told");
    } else if (!repeated->difference.has_value() && !repeated->whole) {
      SayError("vramspan repeat", file_ +
                                      " has no end: the program was killed, or its recording "
                                      "ended; the last quarter of a second may be missing");
    }
    return repeated->difference.has_value() || !repeated->damage.empty() ? kExitFailure : kExitOk;
  }

 private:
  static double Milliseconds(Duration d) { return static_cast<double>(d.count()) / 1e6; }

  static void SayText(const RepeatedEvents& r) {
    if (!r.difference.has_value()) {
      std::cout << absl::StrFormat("%d events, %d actions, all the same%s\n", r.events, r.actions,
                                   r.damage.empty() ? "" : " up to the damage");
      return;
    }
    const replay::EventDifference& d = *r.difference;
    std::cout << absl::StrFormat(
        "event %d, %s at %.6f ms, differs\n  recorded: %s\n  now:      %s\n"
        "%d events and %d actions before it are the same\n",
        d.event, d.name, Milliseconds(d.at), d.recorded, d.now, d.event - 1, r.actions);
  }

  void SayJson(const RepeatedEvents& r) const {
    nlohmann::json json = {
        {"file", file_},      {"program", r.program}, {"policy", r.policy},
        {"events", r.events}, {"actions", r.actions}, {"most_held", r.most_held},
        {"whole", r.whole},   {"damage", r.damage},   {"same", !r.difference.has_value()}};
    if (r.difference.has_value()) {
      const replay::EventDifference& d = *r.difference;
      json["difference"] = {{"event", d.event},
                            {"name", d.name},
                            {"at_ms", Milliseconds(d.at)},
                            {"recorded", d.recorded},
                            {"now", d.now}};
    }
    std::cout << json.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) << "\n";
  }

  std::string file_, format_ = "text";
};

VRAMSPAN_COMMAND(RepeatCommand);

}  // namespace
}  // namespace vramspan
