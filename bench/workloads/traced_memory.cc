#include "bench/workloads/traced_memory.h"

namespace vramspan::bench {

CUdeviceptr PlainMemory::Device(size_t bytes) {
  if (device_bytes_ >= bytes) return device_;
  if (device_ != 0) machine_.Check(machine_.api().MemFree(device_), "cuMemFree");
  device_ = 0;
  device_bytes_ = 0;
  machine_.Check(machine_.api().MemAlloc(&device_, bytes), "cuMemAlloc");
  device_bytes_ = bytes;
  return device_;
}

CUdeviceptr PlainMemory::Host(size_t bytes) {
  if (host_bytes_ >= bytes) return host_;
  if (host_pointer_ != nullptr) {
    machine_.Check(machine_.api().MemFreeHost(host_pointer_), "cuMemFreeHost");
  }
  host_pointer_ = nullptr;
  host_bytes_ = 0;
  machine_.Check(machine_.api().MemHostAlloc(&host_pointer_, bytes, CU_MEMHOSTALLOC_DEVICEMAP),
                 "cuMemHostAlloc");
  machine_.Check(machine_.api().MemHostGetDevicePointer(&host_, host_pointer_, 0),
                 "cuMemHostGetDevicePointer");
  host_bytes_ = bytes;
  return host_;
}

void PlainMemory::CopyToHost(size_t bytes, CUstream stream) {
  Device(bytes);
  Host(bytes);
  machine_.Check(machine_.api().MemcpyDtoHAsync(host_pointer_, device_, bytes, stream),
                 "cuMemcpyDtoHAsync");
  machine_.Synchronize(stream);
}

void PlainMemory::Release() {
  if (device_ != 0) machine_.api().MemFree(device_);
  if (host_pointer_ != nullptr) machine_.api().MemFreeHost(host_pointer_);
}

DoubleBuffer::DoubleBuffer(Machine& machine, CUstream work, CUdeviceptr place, size_t slot_bytes)
    : machine_(machine), work_(work), copies_(machine.MakeStream()) {
  for (Slot& slot : slots_) {
    slot = {place, machine.MakeEvent(false), machine.MakeEvent(false)};
    place += slot_bytes;
  }
}

CUdeviceptr DoubleBuffer::Fetch(const void* from, size_t bytes) {
  const DriverApi& cu = machine_.api();
  const Slot& slot = slots_[turn_ % 2];
  // Before its first record the event is no obstacle.
  machine_.Check(cu.StreamWaitEvent(copies_, slot.free, 0), "cuStreamWaitEvent");
  machine_.Check(cu.MemcpyHtoDAsync(slot.ptr, from, bytes, copies_), "cuMemcpyHtoDAsync");
  machine_.Check(cu.EventRecord(slot.filled, copies_), "cuEventRecord");
  machine_.Check(cu.StreamWaitEvent(work_, slot.filled, 0), "cuStreamWaitEvent");
  return slot.ptr;
}

void DoubleBuffer::Release() {
  machine_.Check(machine_.api().EventRecord(slots_[turn_ % 2].free, work_), "cuEventRecord");
  ++turn_;
}

}  // namespace vramspan::bench
