// CUDA_MODULE_LOADING=EAGER, which is read once a process: the build sets it for this program.

#include "tests/simcuda/kernel_fixture.h"

namespace simcuda {
namespace {

class EagerTest : public KernelTest {};

TEST_F(EagerTest, NoLaunchWaitsForTheContext) {
  CUmoduleLoadingMode mode = CU_MODULE_LAZY_LOADING;
  SIM_OK(cuModuleGetLoadingMode(&mode));
  EXPECT_EQ(mode, CU_MODULE_EAGER_LOADING);
  const CUstream other = NewStream();
  const CUdeviceptr out = Words(4);
  Gate gate;
  gate.Park(other);
  SIM_OK(Launch(Function("fill"), stream_, out, size_t{4}, Word{1}));
  SIM_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(cuStreamQuery(other), CUDA_ERROR_NOT_READY);
}

}  // namespace
}  // namespace simcuda
