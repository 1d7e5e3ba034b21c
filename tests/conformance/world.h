// What every rule is tried on: one driver, simulated or real, two contexts of its first device and
// the kernels of tests/kernels, all loaded and run once, so that nothing in a test is the first of
// its kind unless the test wants it so.
#ifndef VRAMSPAN_TESTS_CONFORMANCE_WORLD_H_
#define VRAMSPAN_TESTS_CONFORMANCE_WORLD_H_

#include <cuda.h>

#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

#include "runtime/driver/driver.h"
#include "tests/conformance/calls.h"
#include "tools/simcuda/kernel_images.h"

// How GoogleTest prints a result: by name.
void PrintTo(CUresult result, std::ostream* out);

namespace vramspan::conformance {

// As the driver calls it.
std::string Name(CUresult result);

// Throws std::runtime_error that names the call, which fails the running test: for the calls that
// lead up to what a test is about.
void Must(CUresult result, std::string_view call);

class World {
 public:
  // Made at the first call, with the primary context current; lives until the process ends. Throws
  // where there is no driver or no device that has what the rules need.
  static const World& Get();

  const DriverApi& cu() const { return driver_->api(); }
  const Driver& driver() const { return *driver_; }
  CUdevice device() const { return device_; }
  int host_numa_id() const { return host_numa_id_; }
  int compute_major() const { return compute_major_; }
  bool simulated() const { return simulated_; }

  CUcontext primary() const { return primary_; }
  CUcontext second() const { return second_; }

  // A kernel of tests/kernels/test_kernels.cu in the primary context.
  CUfunction Kernel(const std::string& name) const;
  // Loads images of this program's own into the current context.
  CUmodule Load(const simcuda::KernelImages& images) const;

#define VS_X(field, symbol) decltype(&::symbol) field = nullptr;
  VRAMSPAN_CONFORMANCE_CALLS(VS_X)
#undef VS_X

 private:
  World();
  void LoadCalls();
  void RunEverythingOnce() const;

  std::shared_ptr<const Driver> driver_;
  CUdevice device_ = 0;
  int host_numa_id_ = 0;
  int compute_major_ = 0;
  bool simulated_ = false;
  CUcontext primary_ = nullptr;
  CUcontext second_ = nullptr;
  std::map<std::string, CUfunction> kernels_;
};

// Makes a context current for a scope.
class Current {
 public:
  explicit Current(CUcontext context);
  ~Current();
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
};

// A stream of the context that is current where it is made.
class Stream {
 public:
  explicit Stream(unsigned flags = CU_STREAM_NON_BLOCKING);
  ~Stream();
  Stream(Stream&& other) noexcept : stream_(other.stream_) { other.stream_ = nullptr; }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  CUstream get() const { return stream_; }
  // Whether all work submitted so far has finished.
  bool Done() const;

 private:
  CUstream stream_ = nullptr;
};

// Page-locked host memory, mapped for the device in every context.
class Pinned {
 public:
  explicit Pinned(size_t bytes);
  ~Pinned();
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  CUdeviceptr device() const { return device_; }

 private:
  void* data_ = nullptr;
  CUdeviceptr device_ = 0;
};

// Launches `blocks` blocks of `threads` threads with these arguments, whose types must be those of
// the kernel's parameters.
template <typename... Args>
CUresult LaunchOn(const DriverApi& cu, CUfunction kernel, unsigned blocks, unsigned threads,
                  CUstream stream, Args... args) {
  void* params[] = {&args..., nullptr};
  return cu.LaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, stream, params, nullptr);
}

template <typename... Args>
CUresult Launch(CUfunction kernel, unsigned blocks, unsigned threads, CUstream stream,
                Args... args) {
  return LaunchOn(World::Get().cu(), kernel, blocks, threads, stream, args...);
}

}  // namespace vramspan::conformance

#endif  // VRAMSPAN_TESTS_CONFORMANCE_WORLD_H_
