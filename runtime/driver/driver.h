// THE seam: everything the runtime asks of CUDA goes through a Driver, a table of functions
// resolved once from the machine's libcuda.so.1 or from the simulated one. Nothing above this
// folder knows which it is.
//
// Rules for every call of the table:
//  - It is the driver's own function: same arguments, same meaning, a CUresult back.
//  - A failure becomes a Status with Check(), which names the call and what it was done to.
//  - A context must be current where the driver wants one; ScopedContext makes it so.
//  - Threads: as the driver, any thread at any time.
#ifndef VRAMSPAN_RUNTIME_DRIVER_DRIVER_H_
#define VRAMSPAN_RUNTIME_DRIVER_DRIVER_H_

#include <cuda.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "runtime/driver/calls.h"

namespace vramspan {

struct DriverApi {
#define VS_X(field, symbol) decltype(&::symbol) field = nullptr;
  VRAMSPAN_DRIVER_CALLS(VS_X)
#undef VS_X
};

// A loaded driver. Never unloaded: the real one does not survive it.
class Driver {
 public:
  // Loads `path`; empty means the environment's VRAMSPAN_DRIVER, else "libcuda.so.1". Calls cuInit.
  // Errors say which library or function is missing, or that the driver is too old and which
  // version is needed.
  static StatusOr<std::shared_ptr<const Driver>> Load(const std::string& path = {});

  // How exported symbols are found: dlsym, unless this names another before the first Load. For
  // whoever stands in dlsym's place itself.
  using FindSymbol = void* (*)(void* library, const char* name);
  static void FindSymbolsWith(FindSymbol find);

  const DriverApi& api() const { return api_; }
  const DriverApi* operator->() const { return &api_; }
  const std::string& path() const { return path_; }  // What was opened.
  int version() const { return version_; }           // 13000 for CUDA 13.0.

  // For calls outside the table (tests, tools): the address of an exported symbol, or null.
  void* Symbol(const char* name) const;

  // A failure that nobody waits for (of a clean-up, or of work ahead of need) is logged, and the
  // first one kept until somebody can be told. Does nothing for OK.
  void RecordBackgroundError(const Status& status) const VS_EXCLUDES(noted_mu_);
  void NoteError(const Status& status) const VS_EXCLUDES(noted_mu_);  // It was logged before.
  Status TakeNoted() const VS_EXCLUDES(noted_mu_);                    // OK when there is none.

 private:
  Driver() = default;

  DriverApi api_;
  void* library_ = nullptr;
  std::string path_;
  int version_ = 0;
  mutable Mutex noted_mu_;
  mutable Status noted_ VS_GUARDED_BY(noted_mu_);
};

// OK for CUDA_SUCCESS, else an error that names `call` and `detail`.
inline Status Check(CUresult result, std::string_view call, std::string_view detail = {}) {
  if (result == CUDA_SUCCESS) [[likely]]
    return absl::OkStatus();
  return DriverError(result, call, detail);
}

// "0x7f12_34000000+2097152", the detail for calls on a range.
std::string RangeText(DevicePtr ptr, Bytes size);

// Makes the calling thread's capture mode relaxed for a scope, so that what is done inside cannot
// ruin a capture, its own in another stream or one elsewhere in the process (measured: global-mode
// captures fail on calls of other threads unless those are relaxed).
class ScopedRelaxed {
 public:
  explicit ScopedRelaxed(const Driver& driver);
  ~ScopedRelaxed();
  ScopedRelaxed(const ScopedRelaxed&) = delete;
  ScopedRelaxed& operator=(const ScopedRelaxed&) = delete;

  const Status& status() const { return status_; }

 private:
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  Status status_;
};

// Makes a context current for a scope, and the calling thread's capture mode relaxed.
class ScopedContext {
 public:
  ScopedContext(const Driver& driver, CUcontext context);
  ~ScopedContext();
  ScopedContext(const ScopedContext&) = delete;
  ScopedContext& operator=(const ScopedContext&) = delete;

  const Status& status() const { return status_; }

 private:
  const Driver& driver_;
  bool pushed_ = false;
  Status status_;
  std::optional<ScopedRelaxed> relaxed_;
};

// What a device can do, as data: read once, never #ifdef'd above.
struct Capabilities {
  int ordinal = 0;
  std::string name;
  std::string uuid;  // "GPU-xxxxxxxx-...", as nvidia-smi writes it.
  int compute_major = 0, compute_minor = 0;
  Bytes total_memory;
  bool vmm = false;              // cuMemCreate and friends
  bool host_numa_vmm = false;    // the driver says that it has host-backed VMM, by NUMA node;
                                 // drivers before CUDA 12.9 do not say so
  int host_numa_id = -1;         // the node next to the device
  bool wide_stream_ops = false;  // streams wait for and write 64-bit values; 32 bits are used
  bool posix_fd = false;
  bool gpu_direct_rdma = false;
  int async_engines = 0;
  double memory_gb_per_s = 0;  // The most that its memory's clock and width allow; 0: not known.
  Bytes device_granularity;
  // Where host memory comes from, the node next to the device unless FindHostPlace
  // (backing/host_place.h) found that it gives none; and what the places before said.
  CUmemLocation host{};
  Bytes host_granularity;
  std::string host_refused;
};
StatusOr<Capabilities> ReadCapabilities(const Driver& driver, int ordinal);

// The name of a CUkernel or a CUfunction, mangled; one sentence in parentheses where there is none.
std::string KernelName(const Driver& driver, const void* code);

// OK where vramspan can work, as far as the driver says; else one sentence saying what is missing
// and what would help. Host memory and stream waits are tried (backing/host_place.h,
// stream_waits.h).
Status CanWork(const Driver& driver, const Capabilities& device);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_DRIVER_DRIVER_H_
