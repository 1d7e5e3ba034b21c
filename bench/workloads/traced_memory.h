// The plain memory that traced runs are compared with, and double buffering as one writes it by
// hand.
//
// Threads: one.
#ifndef VRAMSPAN_BENCH_WORKLOADS_TRACED_MEMORY_H_
#define VRAMSPAN_BENCH_WORKLOADS_TRACED_MEMORY_H_

#include <vector>

#include "bench/workloads/machine.h"

namespace vramspan::bench {

// One block of plain device memory and one of mapped host memory, which the workloads use one after
// the other: pinning gigabytes takes seconds.
class PlainMemory {
 public:
  explicit PlainMemory(Machine& machine) : machine_(machine) {}
  ~PlainMemory() { Release(); }
  PlainMemory(const PlainMemory&) = delete;
  PlainMemory& operator=(const PlainMemory&) = delete;

  // At least `bytes`. What was handed out before may be gone, and its contents with it.
  CUdeviceptr Device(size_t bytes);
  CUdeviceptr Host(size_t bytes);  // As kernels address it.

  // The first `bytes` of the device's block to the host's. Waits.
  void CopyToHost(size_t bytes, CUstream stream);
  // Of an address that Host() returned: for the CPU.
  void* OnCpu(CUdeviceptr host) const { return static_cast<char*>(host_pointer_) + (host - host_); }

 private:
  void Release();

  Machine& machine_;
  CUdeviceptr device_ = 0;
  CUdeviceptr host_ = 0;
  void* host_pointer_ = nullptr;
  size_t device_bytes_ = 0;
  size_t host_bytes_ = 0;
};

// Two places on the device through which data from the host are streamed beside the work of another
// stream.
class DoubleBuffer {
 public:
  // `place`: memory for two slots of `slot_bytes`.
  DoubleBuffer(Machine& machine, CUstream work, CUdeviceptr place, size_t slot_bytes);

  // Copies `bytes` from the host to the next slot, once the work that used it before has ended; the
  // work stream waits for the copy. Returns the slot's address.
  CUdeviceptr Fetch(const void* from, size_t bytes);
  // The work submitted so far is the last that uses the slot.
  void Release();

 private:
  struct Slot {
    CUdeviceptr ptr = 0;
    CUevent filled = nullptr;
    CUevent free = nullptr;
  };
  Machine& machine_;
  const CUstream work_;
  const CUstream copies_;
  Slot slots_[2];
  size_t turn_ = 0;
};

}  // namespace vramspan::bench

#endif  // VRAMSPAN_BENCH_WORKLOADS_TRACED_MEMORY_H_
