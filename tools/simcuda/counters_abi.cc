#include "tools/simcuda/counters_abi.h"

#include <atomic>

#include "tools/simcuda/environment.h"
#include "tools/simcuda/fault.h"
#include "tools/simcuda/memory/pages.h"
#include "tools/simcuda/memory/vmm.h"

using simcuda::memory::TouchCounter;
using simcuda::memory::Vmm;

namespace {

// What somebody else used of host memory in this count: the counters are the whole device's.
uint64_t OthersSectors() {
  static const size_t first = simcuda::EnvNumber("SIMCUDA_DISTURBED_FROM", 0);
  static const size_t counts = simcuda::EnvNumber("SIMCUDA_DISTURBED", 1);
  static std::atomic<size_t> ended{0};
  const size_t number = ended.fetch_add(1) + 1;
  return first != 0 && number >= first && number - first < counts ? 266 : 0;
}

}  // namespace

int simcudaMayCount() {
  static const bool may = simcuda::EnvNumber("SIMCUDA_COUNTERS", 1) != 0;
  return may ? 1 : 0;
}

int simcudaCountStart() {
  static const size_t refused = simcuda::EnvNumber("SIMCUDA_REFUSED_STARTS", 0);
  static std::atomic<size_t> starts{0};
  const size_t before = starts.fetch_add(1);
  return before == 0 || before > refused ? 0 : -1;
}

int simcudaCountBegin() {
  simcuda::InstallFaultHandler();
  return Vmm::Get().BeginCounting() ? 0 : -1;
}

int simcudaCountEnd(simcudaTouched* touched) {
  constexpr uint64_t kSectors = simcuda::memory::kPage / 32;
  TouchCounter::Pages pages;
  if (!Vmm::Get().EndCounting(&pages) || pages.lost) return -1;
  touched->host_reads = pages.host_read * kSectors;
  touched->host_writes = pages.host_written * kSectors + OthersSectors();
  touched->device = (pages.device_read + pages.device_written) * kSectors;
  return 0;
}
