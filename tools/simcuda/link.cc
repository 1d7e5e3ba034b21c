#include "tools/simcuda/link.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "tools/simcuda/driver.h"
#include "tools/simcuda/memory/address_map.h"
#include "tools/simcuda/memory/vmm.h"
#include "tools/simcuda/mutex.h"
#include "tools/simcuda/shared/segment.h"

namespace simcuda {
namespace {

// A wait looks so often whether its context still lives.
constexpr std::chrono::milliseconds kSlice{5};

long long NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool OnDevice(const void* address) {
  const auto at = reinterpret_cast<CUdeviceptr>(address);
  const memory::RangePtr range = memory::AddressMap::Get().Find(at);
  if (!range || range->host()) return false;
  if (range->kind != memory::RangeKind::kReservation) return true;
  memory::Vmm::Mapped mapped;
  return memory::Vmm::Get().Find(at, &mapped) &&
         mapped.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
}

// When the engines of a device are free again, those of either way.
struct Engines {
  Mutex mutex;
  std::array<long long, 2> free_at SIMCUDA_GUARDED_BY(mutex) = {};
};

Engines& EnginesOf(const Device& device) {
  static auto* const engines = new std::array<Engines, shared::kMostDevices>();
  return (*engines)[static_cast<size_t>(device.ordinal())];
}

}  // namespace

LinkTurn::LinkTurn(const Exec& exec, const void* src, const void* dst, size_t bytes) : exec_(exec) {
  const Config& config = Driver::Get().config();
  if (config.link_in == 0) return;
  const bool in = OnDevice(dst);
  if (in == OnDevice(src)) return;
  const double gb_per_s = in ? config.link_in : config.link_out;
  const auto took = static_cast<long long>(static_cast<double>(bytes) / gb_per_s);
  Engines& engines = EnginesOf(exec.context().device());
  MutexLock lock(engines.mutex);
  long long& free_at = engines.free_at[config.copy_engines > 1 && in ? 1 : 0];
  free_at = std::max(free_at, NowNs()) + took;
  end_ns_ = free_at;
}

LinkTurn::~LinkTurn() {
  while (end_ns_ != 0 && !exec_.Abandoned()) {
    const std::chrono::nanoseconds left(end_ns_ - NowNs());
    if (left.count() <= 0) return;
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(left, kSlice));
  }
}

}  // namespace simcuda
