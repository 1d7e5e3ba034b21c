#include "tools/broker/server/metrics_rows.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"
#include "tools/metrics/exposition.h"

namespace vramspan::broker {
namespace {

using metrics::Exposition;
using metrics::Joined;
using metrics::LabelText;

void Sum(Amounts& sum, const Amounts& more) {
  sum.target = Plus(sum.target, more.target);
  sum.granted = Plus(sum.granted, more.granted);
  sum.used = Plus(sum.used, more.used);
  sum.wanted = Plus(sum.wanted, more.wanted);
  sum.demand = Plus(sum.demand, more.demand);
}

PerPlace<Amounts> AmountsOf(const Process& process) {
  PerPlace<Amounts> amounts;
  for (const Place place : kPlaces) {
    const Lease& lease = process.leases[place];
    amounts[place] = {.target = lease.target,
                      .granted = lease.grant,
                      .used = process.said.used[place],
                      .wanted = process.said.wanted[place],
                      .demand = Demand(process, place)};
  }
  return amounts;
}

// What no other tenant is called here. Names are unique in files alone, and may look the same when
// they are clean.
std::string UniqueName(const Account& account, std::set<std::string>& taken) {
  std::string text = LabelText({{"tenant", account.name}});
  // A number is nobody else's, but anybody may have it in a name.
  for (size_t i = 0; !taken.insert(text).second; ++i) {
    text = LabelText(
        {{"tenant", absl::StrCat("#", account.id.value, std::string(i, '#'), " ", account.name)}});
  }
  return text;
}

void AddTo(TenantRow& row, const Process& process, const Device& device) {
  const PerPlace<Amounts> amounts = AmountsOf(process);
  for (const Place place : kPlaces) Sum(row.amounts[place], amounts[place]);
  row.room = Plus(row.room, process.room);
  ++row.states.at(StateIndex(process));
  const auto seen = device.measured.find(process.id);
  if (seen == device.measured.end()) return;
  row.seen = Plus(row.seen, seen->second);
  if (!process.overran) return;
  const Bytes may = Plus(process.leases[Place::kDevice].grant, process.room);
  row.overrun = Plus(row.overrun, Minus(process.measured, may));
}

struct Collector {
  const Clients& clients;
  MetricsRows rows;
  std::map<std::pair<const Account*, const Device*>, size_t> index;

  void Take(const Device& device, const Process& process) {
    const auto found = clients.find(process.id);
    if (found == clients.end()) return;
    const Client& client = *found->second;
    const auto at = index.find({client.account, &device});
    if (at == index.end()) {
      ++rows.processes_left_out;
      return;
    }
    TenantRow& row = rows.tenants[at->second];
    AddTo(row, process, device);
    // Those that are dying may have the pid of one that has come again.
    if (!client.socket) return;
    if (rows.processes.size() == MetricsRows::kMostProcesses) {
      ++rows.processes_left_out;
      return;
    }
    rows.processes.push_back(
        {.labels = Joined(row.labels, LabelText({{"process", absl::StrCat(client.peer.pid)},
                                                 {"program", client.peer.name}})),
         .amounts = AmountsOf(process)});
  }
};

}  // namespace

MetricsRows CollectRows(const Accounts& accounts, const Devices& devices, const Clients& clients) {
  Collector collector{.clients = clients};
  std::vector<Account*> all = accounts.All();
  std::erase_if(all, [](const Account* account) { return !account->appeared; });
  std::stable_partition(all.begin(), all.end(),
                        [](const Account* account) { return account->source != Source::kPresent; });
  std::set<std::string> taken;
  for (const Account* const account : all) {
    const std::string name = UniqueName(*account, taken);
    for (const auto& [uuid, device] : devices) {
      if (collector.rows.tenants.size() == MetricsRows::kMostTenants) {
        ++collector.rows.tenants_left_out;
        continue;
      }
      collector.index[{account, &device}] = collector.rows.tenants.size();
      const auto tally = account->tallies.find(&device);
      collector.rows.tenants.push_back(
          {.labels = Joined(LabelText({{"gpu", device.name}}), name),
           .device = &device,
           .account = account,
           .tally = tally == account->tallies.end() ? Tally() : tally->second});
    }
  }
  for (const auto& [uuid, device] : devices) {
    for (const auto& [id, process] : device.state.processes) collector.Take(device, process);
  }
  return std::move(collector.rows);
}

size_t StateIndex(const Process& process) {
  return process.stuck ? kProcessStates - 1 : static_cast<size_t>(process.state);
}

const char* StateName(size_t index) {
  constexpr std::array<const char*, kProcessStates> kNames = {"admitted", "steady",  "recalling",
                                                              "partial",  "overdue", "fenced",
                                                              "dying",    "adopted", "stuck"};
  return kNames.at(index);
}

double Fairness(const MetricsRows& rows, const Device& device) {
  double sum = 0, squares = 0;
  int count = 0;
  for (const TenantRow& row : rows.tenants) {
    const Amounts& amounts = row.amounts[Place::kDevice];
    if (row.device != &device || amounts.target == Bytes()) continue;
    const double part = static_cast<double>(std::min(amounts.granted, amounts.target).value) /
                        static_cast<double>(amounts.target.value);
    sum += part;
    squares += part * part;
    ++count;
  }
  return squares == 0 ? 1 : sum * sum / (count * squares);
}

}  // namespace vramspan::broker
