#ifndef VRAMSPAN_TOOLS_SIMCUDA_MODULES_KERNEL_OP_H_
#define VRAMSPAN_TOOLS_SIMCUDA_MODULES_KERNEL_OP_H_

// A kernel launch as an op: the code, the grid, and a copy of the parameters.

#include <cuda.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "tools/simcuda/kernel_abi.h"
#include "tools/simcuda/modules/module.h"
#include "tools/simcuda/op.h"

namespace simcuda {

struct LaunchShape {
  abi::Extent grid;
  abi::Extent block;
  unsigned shared_bytes = 0;
  bool cooperative = false;
};

class KernelOp : public Op {
 public:
  // Checks the shape against the device and the function, and copies the parameters from `params`
  // (an array of pointers) or `extra` (CU_LAUNCH_PARAM_BUFFER_POINTER ...), as cuLaunchKernel takes
  // them. `handle` is what the caller named the kernel by: a CUfunction or a CUkernel.
  static CUresult Create(Function& function, CUfunction handle, const LaunchShape& shape,
                         void** params, void** extra, std::shared_ptr<const KernelOp>* op);

  CUresult Run(const Exec& exec) const override;

  CUfunction handle() const { return handle_; }
  const Image::Kernel& code() const { return code_; }
  const LaunchShape& shape() const { return shape_; }
  // Pointers into the copied parameters, as cuGraphKernelNodeGetParams hands out.
  void** param_pointers() const { return const_cast<void**>(pointers_.data()); }

 private:
  struct alignas(16) Unit {
    char bytes[16];
  };

  bool ReachesItsMemory(const Context& by) const;

  KernelOp(const Function& function, CUfunction handle, const LaunchShape& shape);

  const ImagePtr image_;
  const Image::Kernel& code_;
  const CUfunction handle_;
  const LaunchShape shape_;
  std::vector<Unit> params_;
  std::vector<void*> pointers_;
};
using KernelOpPtr = std::shared_ptr<const KernelOp>;

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_MODULES_KERNEL_OP_H_
