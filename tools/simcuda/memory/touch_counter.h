#ifndef VRAMSPAN_TOOLS_SIMCUDA_MEMORY_TOUCH_COUNTER_H_
#define VRAMSPAN_TOOLS_SIMCUDA_MEMORY_TOUCH_COUNTER_H_

// Counts which pages of VMM mappings are read and written between Begin and End, by whomever: the
// mappings lose their rights, and the fault of the first access of its kind to a page gives the
// page what that access needs. A page that an instruction reads and writes at once counts as
// written only.
//
// Threads: Begin, Forget and End under the Vmm's lock. Touched runs in a signal handler.

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace simcuda::memory {

class TouchCounter {
 public:
  static TouchCounter& Get();

  struct Piece {
    CUdeviceptr base;
    size_t size;
    bool writable;
    bool on_device;
  };
  struct Pages {
    uint64_t host_read = 0, host_written = 0;
    uint64_t device_read = 0, device_written = 0;
    bool lost = false;  // The system ran out of mappings: pages are missing here.
  };

  bool active() const { return set_.load(std::memory_order_relaxed) != nullptr; }
  // The pieces, sorted and readable, are watched. False when the system refuses: nothing is then.
  bool Begin(const std::vector<Piece>& pieces);
  // Mappings in the range change: what they did counts, what comes does not.
  void Forget(CUdeviceptr at, size_t size);
  Pages End();

  // True: it was a touch of a watched page, and the access can be made again.
  bool Touched(const void* address, bool write);

 private:
  struct Watched {
    Piece piece;
    std::atomic<bool> watched{true};
    std::unique_ptr<std::atomic<uint8_t>[]> pages;  // kRead, kWritten
  };
  struct Set {
    std::vector<Watched> all;
    std::atomic<bool> lost{false};
  };

  std::atomic<Set*> set_{nullptr};
  // What a handler may still look at.
  std::unique_ptr<Set> current_, previous_;
};

}  // namespace simcuda::memory

#endif  // VRAMSPAN_TOOLS_SIMCUDA_MEMORY_TOUCH_COUNTER_H_
