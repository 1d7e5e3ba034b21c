#include "tools/simcuda/shared/shared_devices.h"

#include <cstdlib>
#include <utility>

#include "tools/simcuda/environment.h"

namespace simcuda::shared {

SharedDevices* SharedDevices::Get() {
  static SharedDevices* const devices = []() -> SharedDevices* {
    const char* const folder = getenv("SIMCUDA_SHARED_DEVICES");
    if (folder == nullptr || *folder == '\0') return nullptr;
    std::unique_ptr<Segment> segment = Segment::Open(folder);
    if (segment == nullptr) {
      EnvRefuse("SIMCUDA_SHARED_DEVICES", folder,
                "a folder in which a file of simcuda's is or can be made");
    }
    return new SharedDevices(std::move(segment));
  }();
  return devices;
}

SharedDevices::SharedDevices(std::unique_ptr<Segment> segment)
    : name_(segment->name()), segment_(std::move(segment)) {}

void SharedDevices::InitLimit(size_t device, size_t bytes) {
  MutexLock lock(mutex_);
  segment_->InitLimit(device, bytes);
}

bool SharedDevices::Charge(size_t device, size_t bytes) {
  MutexLock lock(mutex_);
  int place = place_.load(std::memory_order_relaxed);
  if (place == kNone) {
    place = segment_->Arrive();
    if (place < 0) return false;
    place_.store(place, std::memory_order_relaxed);
  }
  return segment_->Charge(device, place, bytes);
}

void SharedDevices::Release(size_t device, size_t bytes) {
  MutexLock lock(mutex_);
  const int place = place_.load(std::memory_order_relaxed);
  if (place != kNone) segment_->Release(device, place, bytes);
}

size_t SharedDevices::limit(size_t device) {
  MutexLock lock(mutex_);
  return segment_->limit(device);
}

void SharedDevices::set_limit(size_t device, size_t bytes) {
  MutexLock lock(mutex_);
  segment_->set_limit(device, bytes);
}

size_t SharedDevices::Used(size_t device) {
  MutexLock lock(mutex_);
  return segment_->Used(device);
}

std::vector<ProcessUse> SharedDevices::Processes(size_t device) {
  MutexLock lock(mutex_);
  return segment_->Processes(device);
}

}  // namespace simcuda::shared
