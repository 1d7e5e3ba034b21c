// What a workload runs on: the driver (VRAMSPAN_DRIVER or the machine's own), the primary context
// of one device, made current, and the plain measurements that figures are compared with. A failed
// call throws vramspan::Error.
//
// Threads: one.
#ifndef VRAMSPAN_BENCH_WORKLOADS_MACHINE_H_
#define VRAMSPAN_BENCH_WORKLOADS_MACHINE_H_

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "runtime/driver/driver.h"
#include "tools/simcuda/kernel_images.h"
#include "vramspan/vramspan.hpp"

namespace vramspan::bench {

double Median(std::vector<double> values);

class Machine {
 public:
  explicit Machine(int ordinal = 0);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const DriverApi& api() const { return driver_->api(); }
  const std::shared_ptr<const Driver>& driver() const { return driver_; }
  CUcontext context() const { return context_; }
  const Capabilities& capabilities() const { return capabilities_; }
  int ordinal() const { return capabilities_.ordinal; }
  // "NVIDIA H200, driver 13.0"
  std::string name() const;

  void Check(CUresult result, const char* call) const;

  // All of these live as long as the machine.
  CUstream MakeStream();
  CUevent MakeEvent(bool timing);
  CUmodule LoadModule(const simcuda::KernelImages& images);
  CUfunction Function(CUmodule module, const char* name) const;
  CUdeviceptr Allocate(size_t bytes);  // Plain device memory.
  void* AllocateHost(size_t bytes);    // Pinned.

  void Launch(CUfunction function, size_t blocks, unsigned threads, CUstream stream,
              std::initializer_list<void*> params) const;
  void Synchronize(CUstream stream) const;
  // Seconds of GPU time between two events of timing, both reached.
  double Seconds(CUevent from, CUevent to) const;

 private:
  std::shared_ptr<const Driver> driver_;
  Capabilities capabilities_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  std::vector<std::function<void()>> cleanup_;
};

// Bytes a second of one copy between pinned host memory and the device, and of one each way at
// once: what no mover can beat. Medians.
struct LinkRates {
  double in = 0;
  double out = 0;
  double both = 0;  // The sum of the two.
};
LinkRates MeasureLink(Machine& machine, size_t bytes, int repetitions);

// A runtime on the machine's driver and context, with `device_memory` bytes (0: the default).
Runtime MakeRuntime(const Machine& machine, size_t device_memory, const std::string& chunk,
                    const std::string& policy = {}, const std::string& overlap = {},
                    const std::string& record = {});

// Runs `body` and says on stderr what it threw; the program's exit code.
int RunMain(const char* program, const std::function<int()>& body);

}  // namespace vramspan::bench

#endif  // VRAMSPAN_BENCH_WORKLOADS_MACHINE_H_
