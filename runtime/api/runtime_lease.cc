// What a runtime does where a broker shares its device out.
#include <algorithm>

#include "runtime/api/lease_budgets.h"
#include "runtime/api/runtime.h"
#include "runtime/backing/host_limits.h"

namespace vramspan {

Status Runtime::JoinBroker(const std::string& device_uuid, bool device_given, bool host_given,
                           MemoryOptions* memory) {
  const Budgets alone = {memory->device_budget, memory->host_budget};
  Budgets ceilings = alone;
  if (!device_given) ceilings.device = total_;
  if (!host_given) {
    VS_ASSIGN_OR_RETURN(const HostLimits limits, ReadHostLimits());
    ceilings.host = limits.total;
  }
  if (!memory->use_host) ceilings.host = Bytes(0);
  VS_ASSIGN_OR_RETURN(lease_, LeaseBudgets::Join(device_uuid, {alone, ceilings}));
  if (lease_ == nullptr) return absl::OkStatus();
  const Budgets granted = lease_->budgets();
  memory->device_budget = granted.device;
  memory->host_budget = granted.host;
  memory->expected_budget = std::min(ExpectedShare(total_), ceilings.device);
  return absl::OkStatus();
}

void Runtime::StopHolding() {
  if (lease_ != nullptr) lease_->StopHolding();
}

std::optional<Bytes> Runtime::LeaseLimit(Bytes total) {
  if (lease_ == nullptr) return std::nullopt;
  return lease_->Limit(total);
}

std::optional<Bytes> Runtime::LeaseMost() {
  if (lease_ == nullptr) return std::nullopt;
  const Budgets most = lease_->most();
  return most.device + most.host;
}

}  // namespace vramspan
