#include "tools/simcuda/control.h"

#include "tools/simcuda/control_state.h"
#include "tools/simcuda/driver.h"
#include "tools/simcuda/entry_table.h"
#include "tools/simcuda/handle_table.h"
#include "tools/simcuda/shared/shared_devices.h"

using simcuda::ControlState;
using simcuda::Driver;

#pragma GCC visibility push(default)
extern "C" {

int simcudaFail(const char* name, unsigned long long nth, long long count, int result) {
  return ControlState::Get().Fail(name, nth, count, static_cast<CUresult>(result)) ? 0 : -1;
}

long long simcudaCallCount(const char* name) { return ControlState::Get().CallCount(name); }

unsigned long long simcudaFailedCalls(void) { return ControlState::Get().failed_calls(); }

int simcudaSetDelay(const char* name, unsigned microseconds) {
  return ControlState::Get().SetDelay(name, microseconds) ? 0 : -1;
}

const char* simcudaEntrySymbol(unsigned index) {
  // Every symbol is a literal, so it ends in a zero byte.
  return index < simcuda::EntryCount() ? simcuda::Entry(index).symbol.data() : nullptr;
}

int simcudaSetDeviceMemory(int device, unsigned long long bytes) {
  simcuda::Device* found = Driver::Get().device(device);
  if (found == nullptr) return -1;
  found->memory().set_limit(bytes);
  return 0;
}

int simcudaSetHostMemory(unsigned long long bytes) {
  Driver::Get().host_memory().set_limit(bytes);
  return 0;
}

long long simcudaMemoryUsed(int device) {
  Driver& driver = Driver::Get();
  if (device == -1) return static_cast<long long>(driver.host_memory().used());
  simcuda::Device* found = driver.device(device);
  return found == nullptr ? -1 : static_cast<long long>(found->memory().used());
}

const char* simcudaSharedBy(void) {
  const simcuda::shared::SharedDevices* const shared = simcuda::shared::SharedDevices::Get();
  return shared != nullptr ? shared->name().c_str() : "";
}

unsigned long long simcudaStaleHandleUses(void) {
  return simcuda::StaleHandleUses().load(std::memory_order_relaxed);
}

void simcudaReset(void) {
  ControlState::Get().Reset();
  simcuda::StaleHandleUses().store(0, std::memory_order_relaxed);
  Driver& driver = Driver::Get();
  for (int i = 0; i < driver.device_count(); ++i) {
    driver.device(i)->memory().set_limit(driver.config().device_memory);
  }
  driver.host_memory().set_limit(driver.config().host_memory);
}

}  // extern "C"
#pragma GCC visibility pop
