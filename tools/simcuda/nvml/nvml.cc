// The simulated devices as a monitor sees them: no driver is loaded, no context made. What others
// use is known of devices that are shared (shared/shared_devices.h); of others nobody uses any.
//
// Types and codes are NVML's, whose header the toolkit need not have. Threads: any.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tools/simcuda/config.h"
#include "tools/simcuda/shared/shared_devices.h"

namespace {

enum Code : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotFound = 6,
  kInsufficientSize = 7,
};

struct Memory {
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
constexpr unsigned kMemoryV2 = sizeof(MemoryV2) | 2u << 24;
struct ProcessInfo {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};
constexpr unsigned kNoInstance = 0xffffffff;

using Handle = struct DeviceSt*;  // The number from 1.

struct Machine {
  const simcuda::Config config = simcuda::Config::FromEnvironment();
  simcuda::shared::SharedDevices* const shared = simcuda::shared::SharedDevices::Get();

  static Machine& Get() {
    static auto* const machine = new Machine();
    return *machine;
  }
  size_t devices() const { return static_cast<size_t>(config.devices); }
};

std::atomic<int> users{0};  // nvmlInit less nvmlShutdown.

// Where a call may go on: `number` is the device's.
Code Find(Handle handle, size_t* number) {
  if (users.load() <= 0) return kUninitialized;
  *number = reinterpret_cast<uintptr_t>(handle) - 1;
  return *number < Machine::Get().devices() ? kSuccess : kInvalidArgument;
}

Memory MemoryOf(size_t number) {
  const Machine& machine = Machine::Get();
  if (machine.shared == nullptr) {
    return {machine.config.device_memory, machine.config.device_memory, 0};
  }
  machine.shared->InitLimit(number, machine.config.device_memory);
  const size_t total = machine.shared->limit(number);
  const size_t used = std::min(total, machine.shared->Used(number));
  return {total, total - used, used};
}

std::string UuidText(size_t number) {
  std::string text = "GPU-";
  for (const unsigned char byte : simcuda::UuidOf(static_cast<int>(number))) {
    std::array<char, 3> hex;
    snprintf(hex.data(), hex.size(), "%02x", byte);
    if (text.size() == 12 || text.size() == 17 || text.size() == 22 || text.size() == 27) {
      text += '-';
    }
    text += hex.data();
  }
  return text;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Code nvmlInit_v2() {
  Machine::Get();
  users.fetch_add(1);
  return kSuccess;
}

Code nvmlShutdown() {
  int before = users.load();
  while (before > 0 && !users.compare_exchange_weak(before, before - 1)) {
  }
  return before > 0 ? kSuccess : kUninitialized;
}

const char* nvmlErrorString(int code) {
  switch (code) {
    case kSuccess:
      return "Success";
    case kUninitialized:
      return "Uninitialized";
    case kInvalidArgument:
      return "Invalid Argument";
    case kNotFound:
      return "Not Found";
    case kInsufficientSize:
      return "Insufficient Size";
    default:
      return "Unknown Error";
  }
}

Code nvmlDeviceGetCount_v2(unsigned* count) {
  if (users.load() <= 0) return kUninitialized;
  if (count == nullptr) return kInvalidArgument;
  *count = static_cast<unsigned>(Machine::Get().devices());
  return kSuccess;
}

Code nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle* device) {
  if (users.load() <= 0) return kUninitialized;
  if (device == nullptr || index >= Machine::Get().devices()) return kInvalidArgument;
  *device = reinterpret_cast<Handle>(uintptr_t{index} + 1);
  return kSuccess;
}

Code nvmlDeviceGetHandleByUUID(const char* uuid, Handle* device) {
  if (users.load() <= 0) return kUninitialized;
  if (uuid == nullptr || device == nullptr) return kInvalidArgument;
  for (size_t i = 0; i < Machine::Get().devices(); ++i) {
    if (UuidText(i) != uuid) continue;
    *device = reinterpret_cast<Handle>(i + 1);
    return kSuccess;
  }
  return kNotFound;
}

Code nvmlDeviceGetUUID(Handle device, char* uuid, unsigned length) {
  size_t number = 0;
  if (const Code code = Find(device, &number); code != kSuccess) return code;
  const std::string text = UuidText(number);
  if (uuid == nullptr) return kInvalidArgument;
  if (length <= text.size()) return kInsufficientSize;
  memcpy(uuid, text.c_str(), text.size() + 1);
  return kSuccess;
}

Code nvmlDeviceGetMemoryInfo(Handle device, Memory* memory) {
  size_t number = 0;
  if (const Code code = Find(device, &number); code != kSuccess) return code;
  if (memory == nullptr) return kInvalidArgument;
  *memory = MemoryOf(number);
  return kSuccess;
}

Code nvmlDeviceGetMemoryInfo_v2(Handle device, MemoryV2* memory) {
  size_t number = 0;
  if (const Code code = Find(device, &number); code != kSuccess) return code;
  if (memory == nullptr || memory->version != kMemoryV2) return kInvalidArgument;
  const Memory m = MemoryOf(number);
  *memory = {kMemoryV2, m.total, 0, m.free, m.used};
  return kSuccess;
}

// Of version 3 and 2 alike.
Code nvmlDeviceGetComputeRunningProcesses_v3(Handle device, unsigned* count, ProcessInfo* infos) {
  size_t number = 0;
  if (const Code code = Find(device, &number); code != kSuccess) return code;
  if (count == nullptr || (*count != 0 && infos == nullptr)) return kInvalidArgument;
  std::vector<simcuda::shared::ProcessUse> uses;
  if (Machine::Get().shared != nullptr) uses = Machine::Get().shared->Processes(number);
  const unsigned room = *count;
  *count = static_cast<unsigned>(uses.size());
  if (uses.size() > room) return kInsufficientSize;
  for (size_t i = 0; i < uses.size(); ++i) {
    infos[i] = {static_cast<unsigned>(uses[i].pid), uses[i].bytes, kNoInstance, kNoInstance};
  }
  return kSuccess;
}

Code nvmlDeviceGetComputeRunningProcesses_v2(Handle device, unsigned* count, ProcessInfo* infos) {
  return nvmlDeviceGetComputeRunningProcesses_v3(device, count, infos);
}

}  // extern "C"
#pragma GCC visibility pop
