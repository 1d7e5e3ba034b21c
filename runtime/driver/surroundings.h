// Where a device is not a card that this Linux alone has: Windows' driver beneath WSL2, a vGPU of a
// host, or a part of a card (MIG). What the driver refuses there needs other words.
#ifndef VRAMSPAN_RUNTIME_DRIVER_SURROUNDINGS_H_
#define VRAMSPAN_RUNTIME_DRIVER_SURROUNDINGS_H_

#include <string>
#include <string_view>

#include "runtime/driver/driver.h"

namespace vramspan {

enum class DeviceKind { kCard, kMig, kVgpu };

// By the name that the driver gives it: "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "GRID A100-10C".
DeviceKind KindOfDevice(std::string_view name);

// By the kernel's name. `root` is prepended to paths, for tests.
bool KernelIsWsl(const std::string& root = {});

// By the kernel's name, or by the folder that Windows' driver is seen in.
bool UnderWsl(const Driver& driver, const std::string& root = {});

// "a MIG instance, under WSL2"; empty for a card on Linux.
std::string SurroundingsText(const Driver& driver, std::string_view device_name,
                             const std::string& root = {});

// What helps where the driver refuses what vramspan needs, as the end of a sentence.
std::string WhatHelps(const Driver& driver, std::string_view device_name,
                      const std::string& root = {});

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_DRIVER_SURROUNDINGS_H_
