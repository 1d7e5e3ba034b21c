#include "tools/simcuda/handle_table.h"

namespace simcuda {

std::atomic<uint64_t>& StaleHandleUses() {
  static std::atomic<uint64_t> uses{0};
  return uses;
}

uint64_t NewHandleValue() {
  // Above the 47 bits of user addresses, so that a handle used as a pointer faults.
  constexpr uint64_t kBase = uint64_t{0x5C} << 48;
  static std::atomic<uint64_t> next{1};
  return kBase + next.fetch_add(1, std::memory_order_relaxed) * 64;
}

}  // namespace simcuda
