#include "tools/simcuda/counters_abi.h"

#include "tools/simcuda/environment.h"
#include "tools/simcuda/fault.h"
#include "tools/simcuda/memory/pages.h"
#include "tools/simcuda/memory/vmm.h"

using simcuda::memory::TouchCounter;
using simcuda::memory::Vmm;

int simcudaMayCount() {
  static const bool may = simcuda::EnvNumber("SIMCUDA_COUNTERS", 1) != 0;
  return may ? 1 : 0;
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
  touched->host_writes = pages.host_written * kSectors;
  touched->device = (pages.device_read + pages.device_written) * kSectors;
  return 0;
}
