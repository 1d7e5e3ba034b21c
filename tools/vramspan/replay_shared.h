// `vramspan replay A B --broker`: several recorded programs on one device.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_REPLAY_SHARED_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_REPLAY_SHARED_H_

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "tools/broker/core/policy.h"
#include "tools/replay/shared_replay.h"
#include "tools/vramspan/replay_output.h"

namespace vramspan::replay {

struct TenantOption {
  broker::Policy policy;
  uint64_t start = 0;
  std::optional<uint64_t> rounds;  // The program has so many (WithRounds).
};

// "NAME:weight=200,guarantee=1GiB,start=5s" for tenants of these names, or their numbers from 1.
// Keys are those of tenants.d, start and rounds. Errors name what is wrong and what is allowed.
StatusOr<std::vector<TenantOption>> ParseTenants(const std::vector<std::string>& options,
                                                 const std::vector<std::string>& names);
// What a file's program is called: the file's name without its ending, by number where two have the
// same.
std::vector<std::string> TenantNames(const std::vector<std::string>& files);

// What one amount of device memory came to.
struct SharedRun {
  Budget memory;
  SharedResult together;
  // From the first submission on: with all of it, and with what it had together on average.
  std::vector<uint64_t> alone, in_share;
  uint64_t one_by_one = 0;  // In the order of their starts, each with all of it.
};

struct SharedPrograms {
  std::vector<std::string> names;
  std::vector<SharedProgram> programs;
};

StatusOr<SharedRun> RunShared(const SharedPrograms& shared, const ReplayPrices& prices,
                              const Budget& memory, const SharedOptions& options);

std::string SharedTable(const SharedPrograms& shared, const std::vector<SharedRun>& runs,
                        const std::string& prices);
std::string SharedJson(const SharedPrograms& shared, const std::vector<SharedRun>& runs,
                       const std::string& prices);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_REPLAY_SHARED_H_
