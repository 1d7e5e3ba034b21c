// A libnvidia-ml.so.1 of two devices: the first is simcuda's, of 48 MiB with nothing in use but
// what FAKE_NVML_USED_MIB says; of the second the driver knows nothing.
#include <cstdio>
#include <cstdlib>

namespace {

struct Memory {
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};

constexpr int kInvalidArgument = 2;
constexpr unsigned long long kTotal = 48ull << 20;
constexpr unsigned long long kReserved = 1ull << 20;
int devices[2];

unsigned long long Used() {
  const char* text = std::getenv("FAKE_NVML_USED_MIB");
  return text != nullptr ? std::strtoull(text, nullptr, 10) << 20 : 0;
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) int nvmlDeviceGetHandleByIndex_v2(unsigned index,
                                                                         void** device) {
  if (index > 1 || device == nullptr) return kInvalidArgument;
  *device = &devices[index];
  return 0;
}
__attribute__((visibility("default"))) int nvmlDeviceGetUUID(void* device, char* text,
                                                             unsigned size) {
  // "simcuda-device-" and the ordinal.
  std::snprintf(text, size, "GPU-73696d63-7564-612d-6465-766963652d%02x",
                device == &devices[0] ? 0 : 0xee);
  return 0;
}
__attribute__((visibility("default"))) int nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
  if (memory == nullptr) return kInvalidArgument;
  *memory = {kTotal, kTotal - Used(), Used()};
  return 0;
}
__attribute__((visibility("default"))) int nvmlDeviceGetMemoryInfo_v2(void*, MemoryV2* memory) {
  if (memory == nullptr) return kInvalidArgument;
  *memory = {memory->version, kTotal, kReserved, kTotal - kReserved - Used(), Used()};
  return 0;
}
}
