// What the demo runs on: a loaded driver, the device's primary context made current, two streams,
// and the demo's kernels. The demo asks which kind of driver it is only to say so.
//
// Threads: one; the context is current on the thread that opened the device. Destruction waits for
// nothing: every run has synchronized its streams.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_DEMO_DEVICE_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_DEMO_DEVICE_H_

#include <array>
#include <initializer_list>
#include <memory>
#include <string>

#include "runtime/driver/driver.h"

namespace vramspan::demo {

class Device {
 public:
  static StatusOr<std::unique_ptr<Device>> Open(std::shared_ptr<const Driver> driver, int ordinal);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  enum Kernel {
    kFillIntegers,
    kFillFloats,
    kLayer,
    kSweepIntegers,
    kSweepFloats,
    kInject,
    kDigest,
    kKernels,
  };

  // One thread an element, up to what fills a large GPU; the kernels stride over the rest. The
  // pointers point at the arguments, in order. Throws vramspan::Error, as all below.
  void Launch(Kernel kernel, CUstream stream, size_t elements,
              std::initializer_list<void*> params) const;
  void Check(CUresult result, const char* call) const;
  // Work submitted to `later` from here on waits for what `earlier` holds.
  void Order(CUstream earlier, CUstream later) const;

  const DriverApi& api() const { return driver_->api(); }
  const Driver& driver() const { return *driver_; }
  const Capabilities& capabilities() const { return capabilities_; }
  CUstream stream(size_t index) const { return streams_[index]; }
  // Device memory not in use, context and modules loaded.
  Bytes free_memory() const;

 private:
  Device() = default;
  Status Load();

  std::shared_ptr<const Driver> driver_;
  Capabilities capabilities_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  std::array<CUfunction, kKernels> kernels_ = {};
  std::array<CUstream, 2> streams_ = {};
  CUevent order_ = nullptr;
};

}  // namespace vramspan::demo

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_DEMO_DEVICE_H_
