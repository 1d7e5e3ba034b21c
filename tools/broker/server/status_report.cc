#include "tools/broker/server/status_report.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"
#include "tools/broker/server/metrics_rows.h"
#include "tools/broker/words/policy_text.h"

namespace vramspan::broker {
namespace {

using Json = nlohmann::ordered_json;

const char* SourceText(Source source) {
  switch (source) {
    case Source::kPresent:
      return "present";
    case Source::kOperator:
      return "operator";
    case Source::kFile:
      return "file";
    case Source::kContainer:
      return "container";
  }
  return "present";
}

// Its part in the turns on the GPU.
const char* TurnText(const State& state, const Process& process) {
  if (!process.part.takes) return "none";
  return state.gpu.holder == process.id ? "has" : "waits";
}

int64_t SecondsOf(Duration time) {
  return std::max<int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(time).count());
}

Json LimitOf(Bytes limit) { return limit == kAllBytes ? Json() : Json(limit.value); }

Json PoolOf(const State& state, Place place) {
  const Pool& pool = state.pools[place];
  return {{"capacity_bytes", pool.capacity.value},
          {"foreign_bytes", pool.foreign.value},
          {"held_bytes", Held(state, place).value},
          {"free_bytes", Free(state, place).value}};
}

Json LeaseOf(const Process& process, Place place) {
  const Lease& lease = process.leases[place];
  return {{"target_bytes", lease.target.value},
          {"grant_bytes", lease.grant.value},
          {"used_bytes", process.said.used[place].value},
          {"wanted_bytes", process.said.wanted[place].value},
          {"recalled_bytes", lease.recall ? lease.recall->bytes.value : 0}};
}

Json TenantOf(const Account& account, const Device& device) {
  const Policy& p = account.policy;
  const auto found = account.tallies.find(&device);
  const Tally tally = found == account.tallies.end() ? Tally() : found->second;
  const uint64_t recalls = std::accumulate(tally.answers.begin(), tally.answers.end(), uint64_t{0});
  return {{"kind", "tenant"},
          {"device", device.name},
          {"name", account.name},
          {"cgroup", account.cgroup},
          {"policy_from", SourceText(account.source)},
          {"weight", p.weight},
          {"guarantee_bytes", p.guarantee[Place::kDevice].value},
          {"limit_bytes", LimitOf(p.limit[Place::kDevice])},
          {"host_guarantee_bytes", p.guarantee[Place::kHost].value},
          {"host_limit_bytes", LimitOf(p.limit[Place::kHost])},
          {"class", ClassText(p.klass)},
          {"drained", account.drained},
          {"recalls", recalls},
          {"recalled_bytes", tally.given[Place::kDevice].value},
          {"moved_bytes", tally.moved.value},
          {"stalled_seconds", SecondsOf(tally.stalled)}};
}

Json ProcessOf(const Process& process, const Client* client, const Device& device, Instant now) {
  const auto measured = device.measured.find(process.id);
  return {
      {"kind", "process"},
      {"device", device.name},
      {"cgroup", client == nullptr ? "" : client->account->cgroup},
      {"pid", client == nullptr ? 0 : client->peer.pid},
      {"program", client == nullptr ? "" : client->peer.name},
      {"connected_seconds", client == nullptr ? 0 : SecondsOf(now - client->since)},
      {"state", StateName(StateIndex(process))},
      {"overruns", process.overran},
      {"turn", TurnText(device.state, process)},
      {"drained", process.drains},
      {"device_memory", LeaseOf(process, Place::kDevice)},
      {"host_memory", LeaseOf(process, Place::kHost)},
      {"room_bytes", process.room.value},
      {"seen_bytes", measured == device.measured.end() ? Json() : Json(measured->second.value)}};
}

std::string Line(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace

std::vector<std::string> StatusReport(const Facts& facts) {
  std::vector<std::string> lines;
  lines.push_back(Line({{"kind", "broker"},
                        {"pid", getpid()},
                        {"run_directory", facts.run_directory},
                        {"sees_use", facts.sees_use},
                        // What holds a process to its grant (docs/sharing.md).
                        {"enforcement", "cooperative"},
                        {"drained", facts.accounts.drained()},
                        {"running_seconds", SecondsOf(facts.now - facts.started)}}));
  for (const auto& [uuid, device] : facts.devices) {
    const State& state = device.state;
    const Bytes reserve = state.settings.Reserve(state.pools[Place::kDevice].capacity);
    lines.push_back(Line({{"kind", "device"},
                          {"uuid", device.name},
                          {"device_memory", PoolOf(state, Place::kDevice)},
                          {"reserve_bytes", reserve.value},
                          {"host_memory", PoolOf(state, Place::kHost)},
                          {"turns", state.gpu.on},
                          {"adopting", state.adopting_until.has_value()}}));
    for (const Account* const account : facts.accounts.All()) {
      if (account->appeared || account->drained) lines.push_back(Line(TenantOf(*account, device)));
    }
    for (const auto& [id, process] : state.processes) {
      const auto client = facts.clients.find(id);
      lines.push_back(
          Line(ProcessOf(process, client == facts.clients.end() ? nullptr : client->second.get(),
                         device, facts.now)));
    }
  }
  lines.push_back(Line({{"kind", "end"}}));
  return lines;
}

}  // namespace vramspan::broker
