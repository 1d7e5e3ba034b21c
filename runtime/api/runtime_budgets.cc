// What a runtime may use of device and host memory, and who hears when that changes.
#include <absl/strings/str_cat.h>

#include "runtime/api/runtime.h"
#include "runtime/api/settings.h"

namespace vramspan {

Status Runtime::SetDeviceBudget(Bytes budget, bool given) {
  const Bytes usable(budget.value & ~(kGranularity.value - 1));
  if (usable.value == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a device budget of ", budget.value, " bytes is less than one chunk; give at least 2 MiB"));
  }
  if (budget > total_) {
    return absl::InvalidArgumentError(absl::StrCat("a device budget of ", budget.value,
                                                   " bytes is more than the device's ",
                                                   total_.value >> 20, " MiB"));
  }
  if (lease_ != nullptr) {
    lease_->SetCeilings(usable, std::nullopt);
  } else if (room_ != nullptr) {
    if (given) {
      room_->Give(usable);
    } else {
      room_->Limit(usable);
    }
    TellDeviceBudget();
  } else {
    ApplyDeviceBudget(usable);
  }
  return absl::OkStatus();
}

Bytes Runtime::DeviceCeiling() const {
  return room_ != nullptr ? room_->ceiling() : memory_->device_pool().budget();
}

void Runtime::ApplyDeviceBudget(Bytes budget) {
  memory_->device_pool().SetBudget(budget);
  TellDeviceBudget();
}

void Runtime::TellDeviceBudget() {
  {
    MutexLock lock(telling_);
    // Another change may have overtaken the one that this is for.
    const Bytes budget = memory_->device_pool().budget();
    if (recorder_ != nullptr) recorder_->BudgetIs(budget);
    if (profile_pins_ != nullptr) profile_pins_->BudgetIs(budget);
    if (tracer_ != nullptr) tracer_->BudgetIs(budget);
  }
  if (memory_->supply().filling()) memory_->supply().PrepareHost();
  showing_.Change();
  mover_->Wake();
}

Status Runtime::SetHostBudget(Bytes budget) {
  VS_ASSIGN_OR_RETURN(const HostLimits limits, ReadHostLimits());
  VS_RETURN_IF_ERROR(CheckHostBudget(budget, limits));
  if (lease_ == nullptr) {
    memory_->host_pool().SetBudget(budget);
  } else {
    lease_->SetCeilings(std::nullopt, budget);
  }
  return absl::OkStatus();
}

}  // namespace vramspan
