#include "tools/replay/report_advice.h"

#include <absl/algorithm/container.h>
#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "tools/replay/report_text.h"

namespace vramspan::replay {
namespace {

// Runs that differ by less are equally good: predictions are not finer than that.
constexpr double kEqual = 1.005;
constexpr double kLittle = 1.02;
constexpr double kNearBound = 1.1;
constexpr std::string_view kDefaultPolicy = "cost";

using Runs = std::vector<const ReportRun*>;

template <typename Wanted>
Runs Select(const ReportCase& one, Wanted wanted) {
  Runs runs;
  for (const ReportRun& run : one.runs) {
    if (wanted(run)) runs.push_back(&run);
  }
  return runs;
}

// The fastest; among equals the default policy and then chunks by size, which need no option.
const ReportRun* Best(const Runs& runs) {
  double least = std::numeric_limits<double>::infinity();
  for (const ReportRun* run : runs) least = std::min(least, run->slowdown);
  const auto rank = [&](const ReportRun* run) {
    return std::tuple(run->slowdown > least * kEqual, run->policy != kDefaultPolicy,
                      run->chunk != 0, run->slowdown);
  };
  const auto best = std::min_element(
      runs.begin(), runs.end(), [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
  return best == runs.end() ? nullptr : *best;
}

Runs PolicyRunsAt(const ReportCase& one, double budget) {
  return Select(one, [&](const ReportRun& run) { return !run.bound() && run.budget == budget; });
}

std::set<double> Budgets(const ReportCase& one) {
  std::set<double> budgets;
  for (const ReportRun& run : one.runs) {
    if (!run.bound()) budgets.insert(run.budget);
  }
  return budgets;
}

double Part(const ReportCase& one, const ReportRun& run, double largest) {
  if (run.percent) return *run.percent / 100;
  return run.budget / std::max(1.0, one.trace.peak_bytes > 0 ? one.trace.peak_bytes : largest);
}

const ReportRun* Focus(const ReportCase& one) {
  const std::set<double> budgets = Budgets(one);
  const ReportRun* focus = nullptr;
  double distance = 0;
  for (const double budget : budgets) {
    const ReportRun* best = Best(PolicyRunsAt(one, budget));
    const double away = std::abs(Part(one, *best, *budgets.rbegin()) - 0.5);
    if (focus == nullptr || away < distance) {
      focus = best;
      distance = away;
    }
  }
  return focus;
}

const ReportRun* BoundOf(const ReportCase& one, const ReportRun& run) {
  const Runs runs = Select(one, [&](const ReportRun& other) {
    return other.bound() && other.budget == run.budget && other.chunk == run.chunk;
  });
  return runs.empty() ? nullptr : runs.front();
}

std::optional<double> FewestFetches(const ReportCase& one, const ReportRun& run) {
  if (run.bound_fetches) return run.bound_fetches;
  const ReportRun* bound = BoundOf(one, run);
  return bound == nullptr ? std::nullopt : std::optional<double>(bound->fetches);
}

std::string Budget(const ReportRun& run) { return BudgetWords(run.budget, run.percent); }

std::string Headline(const ReportCase& one, const ReportRun& focus) {
  std::string text =
      focus.slowdown <= kFits
          ? absl::StrCat("At ", Budget(focus), " this program keeps its speed (",
                         TimesWords(focus.slowdown),
                         " the time it takes with all of its memory on the device)")
          : absl::StrCat("At ", Budget(focus), " this program takes ", TimesWords(focus.slowdown),
                         " as long as with all of its memory on the device");
  absl::StrAppend(&text, "; ", focus.policy, " with ", ChunkWords(focus.chunk), " is best");
  const ReportRun* bound = BoundOf(one, focus);
  // To fetch least is not always to be fastest: then its time is no bound.
  if (bound != nullptr && bound->slowdown <= focus.slowdown * kEqual) {
    absl::StrAppend(&text, ", and the bound is ", TimesWords(bound->slowdown));
  } else if (const std::optional<double> least = FewestFetches(one, focus); least && *least > 0) {
    absl::StrAppend(&text, ", and fetches ", TimesWords(focus.fetches / *least),
                    " as many chunks as the fewest possible");
  }
  return text + ".";
}

// The least budget from which on every tried one fits.
std::string Fit(const ReportCase& one) {
  const std::set<double> budgets = Budgets(one);
  const ReportRun* fits = nullptr;
  const ReportRun* below = nullptr;
  for (auto budget = budgets.rbegin(); budget != budgets.rend() && below == nullptr; ++budget) {
    const ReportRun* best = Best(PolicyRunsAt(one, *budget));
    (best->slowdown <= kFits ? fits : below) = best;
  }
  if (fits == nullptr) {
    return absl::StrCat("No budget that was tried stays within 5 % of full speed. The largest, ",
                        Budget(*below), ", takes ", TimesWords(below->slowdown),
                        " as long. Replay larger ones.");
  }
  if (fits->budget == *budgets.rbegin() && below != nullptr) {
    return absl::StrCat("Only the largest budget that was tried, ", Budget(*fits),
                        ", stays within 5 % of full speed (", TimesWords(fits->slowdown), "). At ",
                        Budget(*below), " the program takes ", TimesWords(below->slowdown),
                        " as long.");
  }
  if (below == nullptr) {
    return absl::StrCat("Even ", Budget(*fits),
                        ", the least that was tried, stays within 5 % of full speed (",
                        TimesWords(fits->slowdown), ", ", fits->policy,
                        "). Replay smaller ones to see where that ends.");
  }
  return absl::StrCat("From ", Budget(*fits), " on the program stays within 5 % of full speed (",
                      TimesWords(fits->slowdown), ", ", fits->policy, " with ",
                      ChunkWords(fits->chunk), "). At ", Budget(*below), " it takes ",
                      TimesWords(below->slowdown), ".");
}

std::map<std::string, const ReportRun*> BestByPolicy(const ReportCase& one, double budget) {
  std::map<std::string, Runs> runs;
  for (const ReportRun* run : PolicyRunsAt(one, budget)) runs[run->policy].push_back(run);
  std::map<std::string, const ReportRun*> best;
  for (const auto& [policy, of] : runs) best[policy] = Best(of);
  return best;
}

size_t BudgetsWhereBest(const ReportCase& one, const std::string& policy) {
  size_t count = 0;
  for (const double budget : Budgets(one)) {
    const auto by_policy = BestByPolicy(one, budget);
    const auto own = by_policy.find(policy);
    const ReportRun* best = Best(PolicyRunsAt(one, budget));
    count += own != by_policy.end() && own->second->slowdown <= best->slowdown * kEqual;
  }
  return count;
}

std::optional<std::string> Policy(const ReportCase& one, const ReportRun& focus) {
  const auto by_policy = BestByPolicy(one, focus.budget);
  if (by_policy.size() < 2) return std::nullopt;
  const auto worst =
      std::max_element(by_policy.begin(), by_policy.end(), [](const auto& a, const auto& b) {
        return a.second->slowdown < b.second->slowdown;
      })->second;
  if (worst->slowdown <= focus.slowdown * kLittle) {
    return absl::StrCat("The policy makes little difference at ", Budget(focus), ": the slowest, ",
                        worst->policy, ", is within 2 % of ", focus.policy, ".");
  }
  std::string text = absl::StrCat("At ", Budget(focus), " the best is ", focus.policy, " (",
                                  TimesWords(focus.slowdown), "); the slowest is ", worst->policy,
                                  " (", TimesWords(worst->slowdown), ").");
  const size_t budgets = Budgets(one).size();
  if (budgets > 1) {
    absl::StrAppendFormat(&text, " %s is best, or as good as the best, at %d of the %d budgets.",
                          focus.policy, BudgetsWhereBest(one, focus.policy), budgets);
  }
  const auto usual = by_policy.find(std::string(kDefaultPolicy));
  if (focus.policy != kDefaultPolicy && usual != by_policy.end()) {
    absl::StrAppend(&text, " The default, ", kDefaultPolicy, ", takes ",
                    TimesWords(usual->second->slowdown), ".");
  }
  return text;
}

std::optional<std::string> Room(const ReportCase& one, const ReportRun& focus) {
  const std::optional<double> least = FewestFetches(one, focus);
  if (!least || focus.fetches == 0) return std::nullopt;
  const char* fewest = focus.bound_exact ? "the fewest possible (min)"
                                         : "about the fewest possible (min, which is not exact for "
                                           "chunks of several sizes)";
  if (focus.fetches <= *least * kNearBound) {
    return absl::StrCat("Choosing better can gain little: ", focus.policy,
                        " fetches within 10 % of ", fewest,
                        ". What helps is more memory, a faster "
                        "link, or a program that touches less at a time.");
  }
  if (*least == 0) {
    return absl::StrFormat("%s fetches %.0f chunks where none need be fetched.", focus.policy,
                           focus.fetches);
  }
  return absl::StrCat(focus.policy, " fetches ", TimesWords(focus.fetches / *least),
                      " as many chunks as ", fewest,
                      ", with the future known. Better choices can save no more than that.");
}

std::optional<std::string> Chunks(const ReportCase& one, const ReportRun& focus) {
  std::map<double, Runs> by_chunk;
  for (const ReportRun* run : PolicyRunsAt(one, focus.budget)) by_chunk[run->chunk].push_back(run);
  if (by_chunk.size() < 2) return std::nullopt;
  const ReportRun* worst = nullptr;
  for (const auto& [chunk, runs] : by_chunk) {
    const ReportRun* best = Best(runs);
    if (worst == nullptr || best->slowdown > worst->slowdown) worst = best;
  }
  if (worst->slowdown <= focus.slowdown * kLittle) {
    return absl::StrCat("The chunk size makes little difference at ", Budget(focus),
                        ": all that were tried are within 2 % of each other.");
  }
  return absl::StrCat("At ", Budget(focus), " use ", ChunkWords(focus.chunk), " (",
                      TimesWords(focus.slowdown), "); worst are ", ChunkWords(worst->chunk), " (",
                      TimesWords(worst->slowdown), " at best).");
}

std::optional<std::string> Round(const ReportCase& one, const ReportRun& focus) {
  if (!focus.round_ms || !focus.resident_round_ms || *focus.resident_round_ms <= 0) {
    return std::nullopt;
  }
  return absl::StrFormat(
      "A round of %.0f pieces of work takes %s with all memory on the device, and %s (%s) at %s. "
      "Costs paid once are left out.",
      one.trace.round_works, TimeWords(*focus.resident_round_ms), TimeWords(*focus.round_ms),
      TimesWords(*focus.round_ms / *focus.resident_round_ms), Budget(focus));
}

std::optional<std::string> Stalls(const ReportRun& focus) {
  const double parts = focus.stall_copy_ms + focus.stall_vmm_ms + focus.stall_drain_ms;
  if (focus.slowdown <= kFits || parts <= 0) return std::nullopt;
  std::string text =
      absl::StrCat(TimeWords(focus.stall_ms), " of ", TimeWords(focus.predicted_ms),
                   " are stalls: ", PercentWords(focus.stall_copy_ms / parts), " wait for copies, ",
                   PercentWords(focus.stall_vmm_ms / parts), " for the driver to map, ",
                   PercentWords(focus.stall_drain_ms / parts), " for running work to end. ");
  const double most = std::max({focus.stall_copy_ms, focus.stall_vmm_ms, focus.stall_drain_ms});
  if (most == focus.stall_copy_ms) {
    return text + "The link is the limit: only fewer bytes or more memory help.";
  }
  if (most == focus.stall_vmm_ms) return text + "Larger chunks need fewer driver calls.";
  return text +
         "Memory that is declared, or kernels that are trusted, let moves run beside the "
         "work (docs/overlap.md).";
}

std::string Quoted(const std::string& name) {
  return name.empty() ? "an unnamed one" : absl::StrCat("'", ShortName(name), "'");
}

std::optional<std::string> Kernels(const ReportRun& focus) {
  struct Cost {
    const ReportKernel* kernel;
    double added;
  };
  std::vector<Cost> costs;
  double listed = 0;
  for (const ReportKernel& kernel : focus.kernels) {
    const double added = kernel.predicted_ms - kernel.resident_ms;
    if (added <= 0) continue;
    costs.push_back({&kernel, added});
    listed += added;
  }
  if (focus.slowdown <= kFits || costs.empty()) return std::nullopt;
  std::stable_sort(costs.begin(), costs.end(),
                   [](const Cost& a, const Cost& b) { return a.added > b.added; });
  const double total = std::max(listed, focus.predicted_ms - focus.resident_ms);
  constexpr size_t kNamed = 3;
  constexpr double kMostOfIt = 0.8;
  std::vector<std::string> named;
  double sum = 0;
  for (const Cost& cost : costs) {
    if (named.size() == kNamed || sum >= kMostOfIt * total) break;
    named.push_back(absl::StrCat(Quoted(cost.kernel->name), " (", TimeWords(cost.added), ", ",
                                 PercentWords(cost.added / total), ")"));
    sum += cost.added;
  }
  std::string text = absl::StrCat("Look at ", absl::StrJoin(named, ", "), ": ",
                                  PercentWords(sum / total), " of the added time.");
  const std::string& why = costs.front().kernel->why;
  if (!why.empty()) absl::StrAppend(&text, " The first: ", why, why.back() == '.' ? "" : ".");
  return text;
}

std::optional<std::string> InPlace(const ReportRun& focus) {
  if (focus.bytes_in_place <= 0) return std::nullopt;
  return absl::StrCat(
      SizeWords(focus.bytes_in_place), " are read or written in place, over the bus, beside ",
      SizeWords(focus.bytes_in), " fetched and ", SizeWords(focus.bytes_out), " evicted.");
}

// The timeline to judge by: the focus's own, or that of a run with its budget.
const ReportTimeline* TimelineOf(const ReportCase& one, const ReportRun& focus) {
  if (focus.timeline) return &*focus.timeline;
  const Runs runs = Select(one, [&](const ReportRun& run) {
    return run.timeline && !run.bound() && run.budget == focus.budget;
  });
  const ReportRun* best = Best(runs);
  return best == nullptr ? nullptr : &*best->timeline;
}

// How often a whole allocation's worth of it came or went.
double Changes(const ReportTimeline::Allocation& allocation) {
  double changes = 0;
  for (size_t i = 1; i < allocation.resident.size(); ++i) {
    changes += std::abs(allocation.resident[i] - allocation.resident[i - 1]);
  }
  return changes;
}

// Small allocations that come and go often: to keep those costs little room.
std::optional<std::string> Pins(const ReportCase& one, const ReportRun& focus) {
  const ReportTimeline* timeline = TimelineOf(one, focus);
  if (timeline == nullptr || focus.slowdown <= kFits) return std::nullopt;
  constexpr double kOften = 4;     // Twice in and twice out.
  constexpr double kRoom = 0.125;  // Of the budget, for all of them.
  constexpr size_t kNamed = 4;
  std::vector<const ReportTimeline::Allocation*> often;
  for (const auto& allocation : timeline->allocations) {
    if (Changes(allocation) >= kOften) often.push_back(&allocation);
  }
  std::stable_sort(often.begin(), often.end(),
                   [](const auto* a, const auto* b) { return Changes(*a) > Changes(*b); });
  std::vector<std::string> named;
  double bytes = 0;
  for (const auto* allocation : often) {
    if (named.size() == kNamed || bytes + allocation->bytes > kRoom * focus.budget) continue;
    bytes += allocation->bytes;
    named.push_back(absl::StrFormat("%s (%s, %.0f times)", Quoted(allocation->name),
                                    SizeWords(allocation->bytes), Changes(*allocation) / 2));
  }
  if (named.empty()) return std::nullopt;
  return absl::StrCat("Candidates for vramspanMemPin come and go often, and take ",
                      SizeWords(bytes), " together: ", absl::StrJoin(named, ", "), ".");
}

// Where more memory stops to help, by the curve of the policy that everybody knows.
std::optional<std::string> Knee(const ReportCase& one) {
  constexpr double kHardly = 0.01;
  for (const ReportCurve& curve : one.curves) {
    if (curve.policy != "lru" || curve.points.size() < 2) continue;
    const double floor = curve.points.back().miss_ratio;
    for (const ReportCurve::Point& point : curve.points) {
      if (point.miss_ratio > floor + kHardly) continue;
      return absl::StrCat("With lru, more than ", SizeWords(point.memory),
                          " of device memory saves less than one miss in a hundred accesses.");
    }
  }
  return std::nullopt;
}

std::string SizeOption(double bytes) {
  const auto mib = static_cast<uint64_t>(bytes / (1 << 20));
  return mib % 1024 == 0 && mib > 0 ? absl::StrCat(mib / 1024, "GiB") : absl::StrCat(mib, "MiB");
}

// What is predicted holds with the overlap that was replayed. To be copied into a shell, so nothing
// but a name gets in.
std::string Command(const ReportRun& focus) {
  if (!absl::c_all_of(focus.policy, &absl::ascii_isalnum)) return "";
  // All but the default, which need not be said.
  const bool overlaps = focus.overlap == "off" || focus.overlap == "proven" ||
                        focus.overlap == "safe" || focus.overlap == "all";
  return absl::StrCat("vramspan run --device-memory ", SizeOption(focus.budget), " --policy ",
                      focus.policy, " --chunk ",
                      focus.chunk == 0 ? "auto" : SizeOption(focus.chunk),
                      overlaps ? absl::StrCat(" --overlap ", focus.overlap) : "", " -- PROGRAM");
}

void Add(const char* topic, const std::optional<std::string>& text, Findings* findings) {
  if (text) findings->advice.push_back({topic, *text});
}

}  // namespace

Findings FindingsOf(const ReportCase& one) {
  Findings findings;
  const ReportRun* focus = Focus(one);
  if (focus == nullptr) {
    findings.headline = "No policy was replayed: there are only the curves and the bound below.";
    Add("Memory", Knee(one), &findings);
    return findings;
  }
  findings.focus = focus - one.runs.data();
  findings.headline = Headline(one, *focus);
  findings.command = Command(*focus);
  Add("Round", Round(one, *focus), &findings);
  Add("Memory", Fit(one), &findings);
  Add("Misses", Knee(one), &findings);
  Add("Policy", Policy(one, *focus), &findings);
  Add("Bound", Room(one, *focus), &findings);
  Add("Chunk size", Chunks(one, *focus), &findings);
  Add("Stalls", Stalls(*focus), &findings);
  Add("Kernels", Kernels(*focus), &findings);
  Add("In place", InPlace(*focus), &findings);
  Add("Pinning", Pins(one, *focus), &findings);
  return findings;
}

}  // namespace vramspan::replay
