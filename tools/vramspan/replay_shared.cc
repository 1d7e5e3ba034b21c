#include "tools/vramspan/replay_shared.h"

#include <absl/algorithm/container.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <absl/time/time.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "runtime/base/clean_text.h"
#include "tools/broker/words/policy_text.h"
#include "tools/replay/replay_all.h"
#include "tools/vramspan/demo_text.h"

namespace vramspan::replay {
namespace {

// More than any run takes: a day.
constexpr int64_t kLatestStart = int64_t{24} * 3600 * 1'000'000'000;

Status Wrong(std::string_view option, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("--tenant: '", Repeated(option), "': ", why));
}

StatusOr<size_t> TenantOf(std::string_view option, std::string_view name,
                          const std::vector<std::string>& names) {
  const auto found = absl::c_find(names, name);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  uint32_t number = 0;
  if (absl::SimpleAtoi(name, &number) && number >= 1 && number <= names.size()) return number - 1;
  return Wrong(option, absl::StrCat("there is no tenant '", Repeated(name), "'; use ",
                                    CleanText(absl::StrJoin(names, ", ")), ", or a number from 1"));
}

double MsOf(double nanoseconds) { return nanoseconds / 1e6; }
double MsOf(uint64_t nanoseconds) { return MsOf(static_cast<double>(nanoseconds)); }

double Ratio(uint64_t a, uint64_t b) {
  return b == 0 ? 1 : static_cast<double>(a) / static_cast<double>(b);
}

// With so much memory, to itself.
ReplayResult Alone(const SharedProgram& program, const ReplayPrices& prices, Bytes memory) {
  ReplaySetting setting = program.setting;
  setting.device_memory = Bytes(memory.value & ~(kGranularity.value - 1));
  return ReplayAll(*program.run, prices, {setting}, 1, [](size_t) {}).front();
}

}  // namespace

std::vector<std::string> TenantNames(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  for (const std::string& file : files) {
    std::string name = file.substr(0, file.find(','));
    if (!name.starts_with("synthetic:")) name = std::filesystem::path(name).stem().string();
    names.push_back(std::move(name));
  }
  const std::vector<std::string> all = names;
  for (size_t i = 0; i < names.size(); ++i) {
    if (absl::c_count(all, all[i]) == 1) continue;
    // Nor is it to be another file's name.
    std::string name = absl::StrCat(all[i], "-", i + 1);
    while (absl::c_linear_search(all, name)) name += "+";
    names[i] = std::move(name);
  }
  return names;
}

StatusOr<std::vector<TenantOption>> ParseTenants(const std::vector<std::string>& options,
                                                 const std::vector<std::string>& names) {
  std::vector<TenantOption> tenants(names.size());
  for (const std::string& option : options) {
    // A name may hold a colon: synthetic:loop.
    const size_t colon = option.rfind(':', option.find('='));
    if (colon == std::string::npos || option.find('=') == std::string::npos) {
      return Wrong(option, "it is no NAME:KEY=VALUE,...");
    }
    VS_ASSIGN_OR_RETURN(const size_t i, TenantOf(option, option.substr(0, colon), names));
    for (const std::string_view part : absl::StrSplit(option.substr(colon + 1), ',')) {
      const std::pair<std::string_view, std::string_view> key =
          absl::StrSplit(part, absl::MaxSplits('=', 1));
      if (key.first == "start") {
        absl::Duration start;
        if (!absl::ParseDuration(key.second, &start) || start < absl::ZeroDuration() ||
            start > absl::Nanoseconds(kLatestStart)) {
          return Wrong(option, absl::StrCat("start: '", Repeated(key.second),
                                            "' is no time; use 5s, 300ms and the like, up to 24h"));
        }
        tenants[i].start = static_cast<uint64_t>(absl::ToInt64Nanoseconds(start));
        continue;
      }
      if (key.first == "rounds") {
        uint64_t rounds = 0;
        if (!absl::SimpleAtoi(key.second, &rounds) || rounds == 0) {
          return Wrong(option, absl::StrCat("rounds: '", Repeated(key.second),
                                            "' is no number of rounds; use 100 and the like"));
        }
        tenants[i].rounds = rounds;
        continue;
      }
      const Status set = broker::SetPolicy(key.first, key.second, &tenants[i].policy);
      if (!set.ok()) {
        return Wrong(option, absl::StrCat(set.message(), "; or start=TIME, rounds=NUMBER"));
      }
    }
  }
  return tenants;
}

StatusOr<SharedRun> RunShared(const SharedPrograms& shared, const ReplayPrices& prices,
                              const Budget& memory, const SharedOptions& options) {
  SharedRun run;
  std::vector<uint64_t> whole;  // With what comes before the first submission.
  run.memory = memory;
  VS_ASSIGN_OR_RETURN(run.together, ReplayShared(shared.programs, prices, memory.bytes, options));
  std::vector<size_t> order(shared.programs.size());
  std::iota(order.begin(), order.end(), 0);
  absl::c_stable_sort(order, [&](size_t a, size_t b) {
    return shared.programs[a].start < shared.programs[b].start;
  });
  for (size_t i = 0; i < shared.programs.size(); ++i) {
    const SharedProgram& program = shared.programs[i];
    const ReplayResult alone = Alone(program, prices, memory.bytes);
    run.alone.push_back(alone.predicted);
    whole.push_back(alone.begun + alone.predicted);
    const double mean = run.together.tenants[i].mean_grant;
    run.in_share.push_back(
        Alone(program, prices, std::max(kGranularity, Bytes(static_cast<uint64_t>(mean))))
            .predicted);
  }
  for (const size_t i : order) {
    run.one_by_one = std::max(run.one_by_one, shared.programs[i].start) + whole[i];
  }
  return run;
}

std::string SharedTable(const SharedPrograms& shared, const std::vector<SharedRun>& runs,
                        const std::string& prices) {
  std::string out;
  for (const SharedRun& run : runs) {
    absl::StrAppendFormat(&out, "%d programs on %s of device memory\n", shared.programs.size(),
                          demo::SizeText(run.memory.bytes));
    absl::StrAppendFormat(
        &out, "%-16s %6s %9s %12s %12s %12s %6s %5s %9s %10s %10s %10s %10s %10s %7s %10s\n",
        "tenant", "weight", "start ms", "alone ms", "in share ms", "together ms", "x", "turns",
        "turn ms", "mean share", "last", "in", "out own", "out recall", "recalls", "recall ms");
    for (size_t i = 0; i < shared.programs.size(); ++i) {
      const SharedProgram& program = shared.programs[i];
      const TenantResult& t = run.together.tenants[i];
      absl::StrAppendFormat(
          &out,
          "%-16s %6d %9.0f %12.3f %12.3f %12.3f %6.2f %5d %9.0f %10s %10s %10s %10s %10s %7d "
          "%10.3f\n",
          CleanText(shared.names[i]), program.policy.weight, MsOf(program.start),
          MsOf(run.alone[i]), MsOf(run.in_share[i]), MsOf(t.result.predicted),
          Ratio(t.result.predicted, run.alone[i]), t.gpu_turns, MsOf(t.gpu_turn_time),
          demo::SizeText(Bytes(static_cast<uint64_t>(t.mean_grant))), demo::SizeText(t.last_grant),
          demo::SizeText(t.result.bytes_in), demo::SizeText(t.result.bytes_out - t.out_recalled),
          demo::SizeText(t.out_recalled), t.recalls, MsOf(t.recall_time));
    }
    absl::StrAppendFormat(&out,
                          "  Until the last ends: %.3f ms; one after the other: %.3f ms; x %.2f\n"
                          "  Fairness (Jain's index of what each has of its due): %.4f\n\n",
                          MsOf(run.together.makespan), MsOf(run.one_by_one),
                          Ratio(run.together.makespan, run.one_by_one), run.together.fairness);
  }
  absl::StrAppend(&out,
                  "Of such replays one pair was held against runs of the same programs: see "
                  "\"Several programs on one device\" in docs/replay.md.\n");
  absl::StrAppend(&out, "Prices: ", CleanText(prices), "\n");
  return out;
}

std::string SharedJson(const SharedPrograms& shared, const std::vector<SharedRun>& runs,
                       const std::string& prices) {
  using Json = nlohmann::ordered_json;
  Json all = Json::array();
  for (const SharedRun& run : runs) {
    Json tenants = Json::array();
    for (size_t i = 0; i < shared.programs.size(); ++i) {
      const SharedProgram& program = shared.programs[i];
      const TenantResult& t = run.together.tenants[i];
      tenants.push_back({{"name", shared.names[i]},
                         {"weight", program.policy.weight},
                         {"start_ms", MsOf(program.start)},
                         {"end_ms", MsOf(t.end)},
                         {"alone_ms", MsOf(run.alone[i])},
                         {"in_share_ms", MsOf(run.in_share[i])},
                         {"together_ms", MsOf(t.result.predicted)},
                         {"slowdown", Ratio(t.result.predicted, run.alone[i])},
                         {"mean_share_bytes", static_cast<uint64_t>(t.mean_grant)},
                         {"last_share_bytes", t.last_grant.value},
                         {"bytes_in", t.result.bytes_in.value},
                         {"bytes_out_own", (t.result.bytes_out - t.out_recalled).value},
                         {"bytes_out_recall", t.out_recalled.value},
                         {"recalls", t.recalls},
                         {"recall_ms", MsOf(t.recall_time)},
                         {"fetch_turns", t.fetch_turns},
                         {"gpu_turns", t.gpu_turns},
                         {"gpu_turn_ms", MsOf(t.gpu_turn_time)}});
    }
    Json shares = Json::array();
    for (const ShareSample& sample : run.together.shares) {
      Json grants = Json::array();
      for (const Bytes grant : sample.grants) grants.push_back(grant.value);
      shares.push_back({{"ms", MsOf(sample.time)}, {"bytes", std::move(grants)}});
    }
    Json turns = Json::array();
    for (const GpuTurnSpan& turn : run.together.turns) {
      turns.push_back({{"tenant", turn.tenant}, {"ms", MsOf(turn.from)}, {"to_ms", MsOf(turn.to)}});
    }
    all.push_back({{"device_memory_bytes", run.memory.bytes.value},
                   {"makespan_ms", MsOf(run.together.makespan)},
                   {"one_by_one_ms", MsOf(run.one_by_one)},
                   {"ratio", Ratio(run.together.makespan, run.one_by_one)},
                   {"fairness_jain", run.together.fairness},
                   {"tenants", std::move(tenants)},
                   {"shares", std::move(shares)},
                   {"turns", std::move(turns)}});
  }
  const Json json = {{"tool", "vramspan replay --broker"},
                     {"version", 1},
                     {"prices", prices},
                     {"runs", std::move(all)}};
  return json.dump(1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace vramspan::replay
