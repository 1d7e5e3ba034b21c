#include "runtime/preload/behind_stub.h"

#include <atomic>

namespace vramspan::preload {
namespace {

constinit std::atomic<const vramspanStubPlace*> stub{nullptr};

}  // namespace

bool BehindStub() { return stub.load(std::memory_order_acquire) != nullptr; }

bool InStub(const void* address) {
  const vramspanStubPlace* const place = stub.load(std::memory_order_acquire);
  const auto* at = static_cast<const char*>(address);
  return place != nullptr && at >= place->begin && at < place->end;
}

const void* Foremost(const void* own) {
  const vramspanStubPlace* const place = stub.load(std::memory_order_acquire);
  return place != nullptr ? place->begin : own;
}

void* AfterStub(const char* name) { return stub.load(std::memory_order_acquire)->next(name); }

}  // namespace vramspan::preload

extern "C" __attribute__((visibility("default"))) int vramspanPreloadStandBehind(
    const vramspanStubPlace* place) {
  if (place->size != sizeof(*place)) return 1;
  vramspan::preload::stub.store(place, std::memory_order_release);
  return 0;
}
