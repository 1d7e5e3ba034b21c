// What the daemon sees of the machine's devices: how much memory they have, and who uses it.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_MACHINE_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_MACHINE_H_

#include <sys/types.h>

#include <map>
#include <optional>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "tools/broker/server/device_name.h"

namespace vramspan::broker {

struct DeviceUse {
  Bytes capacity;
  Bytes used;
  // Device memory of each process that has some. None: it has some, and nobody says how much.
  std::map<pid_t, std::optional<Bytes>> processes;
};

class Machine {
 public:
  virtual ~Machine() = default;
  // Those that are known from the beginning.
  virtual std::vector<Uuid> Devices() = 0;
  // How much a device has that nobody has said anything of before. None: there is no such device.
  virtual std::optional<Bytes> CapacityOf(const Uuid& uuid) = 0;
  // It sees who uses a device's memory. Without that a process's memory is taken for gone with it.
  virtual bool sees_use() const = 0;
  // REQUIRES: sees_use.
  virtual StatusOr<DeviceUse> Look(const Uuid& uuid) = 0;
};

// Any device, of which each has as much. For tests.
class StatedMachine final : public Machine {
 public:
  explicit StatedMachine(Bytes capacity) : capacity_(capacity) {}
  std::vector<Uuid> Devices() override { return {}; }
  std::optional<Bytes> CapacityOf(const Uuid&) override { return capacity_; }
  bool sees_use() const override { return false; }
  StatusOr<DeviceUse> Look(const Uuid&) override {
    return absl::UnimplementedError("nothing is seen of a device whose size was stated");
  }

 private:
  const Bytes capacity_;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_MACHINE_H_
