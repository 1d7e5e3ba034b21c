#ifndef VRAMSPAN_TOOLS_SIMCUDA_SHARED_SHARED_DEVICES_H_
#define VRAMSPAN_TOOLS_SIMCUDA_SHARED_SHARED_DEVICES_H_

// This process's part of devices that several share (segment.h). Made at first use, and never
// destroyed. Thread-safe.

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tools/simcuda/mutex.h"
#include "tools/simcuda/shared/segment.h"

namespace simcuda::shared {

class SharedDevices {
 public:
  // Null where SIMCUDA_SHARED_DEVICES names no folder: then each process has its own.
  static SharedDevices* Get();

  const std::string& name() const { return name_; }
  // A limit that nobody has set yet.
  void InitLimit(size_t device, size_t bytes);

  bool Charge(size_t device, size_t bytes);
  void Release(size_t device, size_t bytes);
  size_t limit(size_t device);
  void set_limit(size_t device, size_t bytes);
  size_t Used(size_t device);
  std::vector<ProcessUse> Processes(size_t device);

  // In a child of fork, before anything else: it has nothing of what its parent has.
  void Forked() { place_.store(kNone, std::memory_order_relaxed); }

 private:
  static constexpr int kNone = -1;

  explicit SharedDevices(std::unique_ptr<Segment> segment);

  const std::string name_;
  Mutex mutex_;
  const std::unique_ptr<Segment> segment_ SIMCUDA_PT_GUARDED_BY(mutex_);
  std::atomic<int> place_{kNone};  // Until there is something to charge.
};

}  // namespace simcuda::shared

#endif  // VRAMSPAN_TOOLS_SIMCUDA_SHARED_SHARED_DEVICES_H_
