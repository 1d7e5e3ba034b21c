// The management library of a machine with two GPUs, of 8 and 12 GiB.
#include <cstdint>

struct Memory {
  unsigned long long total, free, used;
};

extern "C" {
#define EXPORTED __attribute__((visibility("default")))
EXPORTED int nvmlInit_v2() { return 0; }
EXPORTED int nvmlShutdown() { return 0; }
EXPORTED int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
EXPORTED int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = reinterpret_cast<void*>(uintptr_t{index} + 1);
  return 0;
}
EXPORTED int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  memory->total = (reinterpret_cast<uintptr_t>(device) == 1 ? 8ull : 12ull) << 30;
  return 0;
}
}
