// Takes fingerprints of memory on the device, at the speed of its memory.
//
// Threads: one, which also is the only one to use the stream. The context is the caller's business.
#ifndef VRAMSPAN_RUNTIME_MOVER_FINGERPRINTER_H_
#define VRAMSPAN_RUNTIME_MOVER_FINGERPRINTER_H_

#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/fingerprint.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "runtime/driver/driver.h"

namespace vramspan {

// Both kernels, in the current context. Unavailable where the driver takes none of the images.
StatusOr<CUmodule> LoadFingerprintKernels(const Driver& driver);

class Fingerprinter {
 public:
  // Loads the kernel, tries it, and so has it loaded for good. Unavailable where the driver takes
  // none of the images.
  static StatusOr<std::unique_ptr<Fingerprinter>> Create(std::shared_ptr<const Driver> driver,
                                                         CUstream stream);
  ~Fingerprinter();

  // Queues a fingerprint of mapped memory into the stream. Returns where it will be, until Take;
  // nothing when kSlots are out.
  static constexpr uint32_t kSlots = 128;
  StatusOr<std::optional<uint32_t>> Queue(DevicePtr from, Bytes size);
  // REQUIRES: the stream has come past it.
  Fingerprint Take(uint32_t slot);

 private:
  Fingerprinter(std::shared_ptr<const Driver> driver, CUstream stream)
      : driver_(std::move(driver)), stream_(stream) {}

  const std::shared_ptr<const Driver> driver_;
  const CUstream stream_;
  CUmodule module_ = nullptr;
  CUfunction kernel_ = nullptr;
  CUdeviceptr sums_ = 0;            // kSlots pairs.
  Fingerprint* results_ = nullptr;  // The same, in pinned host memory.
  std::vector<uint32_t> free_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_FINGERPRINTER_H_
