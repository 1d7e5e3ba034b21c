// Stands for PyTorch's libc10_cuda.so, whose allocator reports each block to libc10.so.
#include <cstddef>
#include <cstdint>

namespace c10 {

struct Device {
  int8_t type;
  int8_t index;
};

void reportMemoryUsageToProfiler(void* p, int64_t bytes, uint64_t allocated, uint64_t reserved,
                                 Device device);

}  // namespace c10

extern "C" long ReportsSeen();
extern "C" {
// `type`: 0 for the host's memory, 1 for CUDA's.
__attribute__((visibility("default"))) void ReportBlock(void* p, int64_t bytes, int type) {
  c10::reportMemoryUsageToProfiler(p, bytes, 0, 0, {static_cast<int8_t>(type), 0});
}
__attribute__((visibility("default"))) long Reports() { return ReportsSeen(); }
// A segment of the allocator's own, by the driver's function for that.
__attribute__((visibility("default"))) int MakeSegment(int (*allocate)(unsigned long long*, size_t),
                                                       unsigned long long* p, size_t bytes) {
  // Not the last that this does, so that this is the caller.
  const volatile int result = allocate(p, bytes);
  return result;
}
}
