// What the daemon knows of tenants and processes, as rows of numbers: one for each tenant and
// device, and one for each process that is connected.
//
// Whoever may make cgroups may make tenants. So there is a bound, and those that an operator told
// of come first.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_METRICS_ROWS_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_METRICS_ROWS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/units.h"
#include "tools/broker/server/accounts.h"
#include "tools/broker/server/client.h"
#include "tools/broker/server/reform.h"

namespace vramspan::broker {

// Of one kind of memory.
struct Amounts {
  Bytes target, granted, used, wanted, demand;
};

// LeaseState's, and stuck.
inline constexpr size_t kProcessStates = 9;

struct TenantRow {
  std::string labels;  // Of no other row.
  const Device* device = nullptr;
  const Account* account = nullptr;
  PerPlace<Amounts> amounts;
  Bytes room, seen, overrun;
  std::array<uint64_t, kProcessStates> states = {};
  Tally tally;
};

struct ProcessRow {
  std::string labels;
  PerPlace<Amounts> amounts;
};

struct MetricsRows {
  // A choice: what a scrape of all of them costs is milliseconds.
  static constexpr size_t kMostTenants = 256, kMostProcesses = 256;

  std::vector<TenantRow> tenants;
  std::vector<ProcessRow> processes;
  uint64_t tenants_left_out = 0, processes_left_out = 0;
};

MetricsRows CollectRows(const Accounts& accounts, const Devices& devices, const Clients& clients);

// How a process's state is called. REQUIRES: index < kProcessStates.
const char* StateName(size_t index);
size_t StateIndex(const Process& process);

// Whether tenants have what is due to them alike: Jain's index of what each has of its target. 1:
// all have the same part of it. One of n: one has all. Nothing is due: 1.
double Fairness(const MetricsRows& rows, const Device& device);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_METRICS_ROWS_H_
