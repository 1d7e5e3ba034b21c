#include "runtime/preload/launch.h"

#include "runtime/api/tracing.h"
#include "runtime/observe/decoder.h"
#include "runtime/preload/resolver.h"

namespace vramspan::preload {
namespace {

constinit std::atomic<decltype(&::cuCtxGetCurrent)> get_current{nullptr};

}  // namespace

constinit std::atomic<const vramspanLaunchSink*> launch_sink{nullptr};

CUcontext CurrentContext() {
  auto get = get_current.load(std::memory_order_acquire);
  if (get == nullptr) [[unlikely]] {
    get = DriverFunction<decltype(&::cuCtxGetCurrent)>("cuCtxGetCurrent");
    if (get == nullptr) return nullptr;
    get_current.store(get, std::memory_order_release);
  }
  CUcontext context = nullptr;
  return get(&context) == CUDA_SUCCESS ? context : nullptr;
}

void PassUnseen(uint32_t call) {
  // Read before it is written: threads need not fight for it.
  if (Tracing::unseen() || Decoder::ClassOf(call) != CallClass::kSubmits) return;
  Tracing::NoteUnseen();
}

int StartWatching(const vramspanLaunchSink* sink, const char*, char*, size_t) {
  launch_sink.store(sink, std::memory_order_release);
  return 0;
}

}  // namespace vramspan::preload
