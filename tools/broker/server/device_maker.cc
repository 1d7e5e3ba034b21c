#include "tools/broker/server/device_maker.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/decide.h"
#include "tools/broker/server/clock.h"

namespace vramspan::broker {
namespace {

// Where devices are whatever processes say they are. A choice.
constexpr size_t kMostDevices = 64;

}  // namespace

DeviceMaker::DeviceMaker(Devices& devices, Accounts& accounts, Machine& machine,
                         const HostMemory& host)
    : devices_(devices), accounts_(accounts), machine_(machine), host_(host) {}

Status DeviceMaker::Start(const Settings& settings, std::map<Uuid, uint64_t> before) {
  settings_ = settings;
  before_ = std::move(before);
  before_until_ = After(Now(), settings_.adoption);
  const std::vector<Uuid> uuids = machine_.Devices();
  host_parts_ = std::max<uint64_t>(1, uuids.size());
  for (const Uuid& uuid : uuids) {
    if (For(uuid) == nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat(UuidText(uuid), ": the driver does not say how much memory it has"));
    }
  }
  return absl::OkStatus();
}

Bytes DeviceMaker::HostShare(Bytes host) const { return Bytes(host.value / host_parts_); }

Device* DeviceMaker::For(const Uuid& uuid) {
  const auto found = devices_.find(uuid);
  if (found != devices_.end()) return &found->second;
  return devices_.size() < kMostDevices ? MakeIn(devices_, uuid) : nullptr;
}

Devices DeviceMaker::Expected() {
  Devices expected;
  if (!devices_.empty()) return expected;
  if (Device* const device = MakeIn(expected, Uuid())) device->name = "the device";
  return expected;
}

Device* DeviceMaker::MakeIn(Devices& devices, const Uuid& uuid) {
  const std::optional<Bytes> capacity = machine_.CapacityOf(uuid);
  const StatusOr<HostUse> host = host_.Look();
  if (!capacity || !host.ok()) return nullptr;
  Device& device = devices[uuid];
  device.state = State(settings_);
  device.uuid = uuid;
  device.name = UuidText(uuid);
  const Instant now = Now();
  // None of it says anything to anybody yet.
  const auto apply = [&](Happening what) { Decide(device.state, {now, std::move(what)}); };
  apply(CapacityIs{Place::kDevice, *capacity});
  apply(CapacityIs{Place::kHost, HostShare(host_.Granted(host->total))});
  const auto before = before_.find(uuid);
  if (before != before_.end() && now < before_until_) apply(Restarts{before->second});
  if (accounts_.drained()) apply(TenantDrains{kRoot, true});
  for (const Account* const account : accounts_.All()) {
    if (!account->appeared) continue;
    const TenantId parent = account->parent == nullptr ? kRoot : account->parent->id;
    apply(TenantAppears{account->id, parent, account->policy, accounts_.Drained(*account)});
  }
  return &device;
}

}  // namespace vramspan::broker
