#include "tools/simcuda/thread.h"

#include <unistd.h>

#include <atomic>
#include <utility>

#include "tools/simcuda/driver.h"

namespace simcuda {

namespace {

constinit thread_local Thread* self = nullptr;

// What the thread has goes with it. The main one's stays for static objects that are destroyed
// behind everything that is the thread's.
struct Ender {
  ~Ender() {
    if (gettid() != getpid()) delete std::exchange(self, nullptr);
  }
};

}  // namespace

Thread& Thread::Self() {
  static std::atomic<uint64_t> next{1};
  if (self == nullptr) {
    self = new Thread{next.fetch_add(1, std::memory_order_relaxed), {}};
    thread_local const Ender ender;
    static_cast<void>(ender);
  }
  return *self;
}

ContextPtr CurrentContext() {
  const Thread& thread = Thread::Self();
  return thread.contexts.empty() ? nullptr : thread.contexts.back();
}

CUresult FindStream(CUstream handle, StreamPtr* stream) {
  const bool per_thread =
      handle == CU_STREAM_PER_THREAD || (handle == nullptr && Thread::Self().per_thread_default);
  if (per_thread || handle == nullptr || handle == CU_STREAM_LEGACY) {
    const ContextPtr context = CurrentContext();
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    *stream = per_thread ? context->per_thread_stream() : context->legacy_stream();
    return CUDA_SUCCESS;
  }
  *stream = Driver::Get().streams().Find(handle);
  return *stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult FindEvent(CUevent handle, EventPtr* event) {
  *event = Driver::Get().events().Find(handle);
  return *event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace simcuda
