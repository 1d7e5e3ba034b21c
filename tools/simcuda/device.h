#ifndef VRAMSPAN_TOOLS_SIMCUDA_DEVICE_H_
#define VRAMSPAN_TOOLS_SIMCUDA_DEVICE_H_

// A simulated device: its memory account and its primary context. Thread-safe.

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tools/simcuda/mutex.h"
#include "tools/simcuda/shared/shared_devices.h"
#include "tools/simcuda/stream.h"

namespace simcuda {

// Bytes in use against a limit. Charging fails when the limit would be passed; a lowered limit
// takes nothing back. The limit may be that of several processes.
class MemoryAccount {
 public:
  // `shared`: where the limit is, and the use of others counts, under the number; it outlives this.
  explicit MemoryAccount(size_t limit, shared::SharedDevices* shared = nullptr, size_t number = 0);
  bool Charge(size_t bytes);
  void Release(size_t bytes);
  size_t limit() const;
  size_t used() const;  // By this process.
  size_t free() const;
  void set_limit(size_t limit);

 private:
  shared::SharedDevices* const shared_;
  const size_t number_;
  mutable Mutex mutex_;
  size_t limit_ SIMCUDA_GUARDED_BY(mutex_);
  size_t used_ SIMCUDA_GUARDED_BY(mutex_) = 0;
};

class Device {
 public:
  Device(int ordinal, size_t memory);

  int ordinal() const { return ordinal_; }
  MemoryAccount& memory() { return memory_; }

  CUresult RetainPrimary(CUcontext* handle);
  CUresult ReleasePrimary();
  CUresult ResetPrimary();
  CUresult SetPrimaryFlags(unsigned flags);
  void PrimaryState(unsigned* flags, int* active);

 private:
  const int ordinal_;
  MemoryAccount memory_;
  Mutex mutex_;
  ContextPtr primary_ SIMCUDA_GUARDED_BY(mutex_);
  CUcontext primary_handle_ SIMCUDA_GUARDED_BY(mutex_) = nullptr;
  int primary_count_ SIMCUDA_GUARDED_BY(mutex_) = 0;
  unsigned primary_flags_ SIMCUDA_GUARDED_BY(mutex_) = 0;
};

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_DEVICE_H_
