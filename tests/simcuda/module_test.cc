// Modules, libraries, and the two kinds of kernel handles.

#include <atomic>
#include <thread>
#include <vector>

#include "tests/simcuda/kernel_fixture.h"

namespace simcuda {
namespace {

class ModuleTest : public KernelTest {
 protected:
  CUlibrary LoadLibrary() {
    CUlibrary library = nullptr;
    EXPECT_EQ(LoadKernels(
                  test_kernels_images(),
                  [](CUlibrary* out, const void* image) {
                    return cuLibraryLoadData(out, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
                  },
                  &library),
              CUDA_SUCCESS);
    return library;
  }
  CUdeviceptr Counter(CUmodule module) {
    CUdeviceptr address = 0;
    size_t bytes = 0;
    EXPECT_EQ(cuModuleGetGlobal(&address, &bytes, module, "launch_counter"), CUDA_SUCCESS);
    EXPECT_EQ(bytes, sizeof(Word));
    return address;
  }
};

TEST_F(ModuleTest, FunctionsByName) {
  CUfunction function = nullptr;
  SIM_OK(cuModuleGetFunction(&function, module_, "fill"));
  const char* name = nullptr;
  CUmodule module = nullptr;
  SIM_EXPECT_OK(cuFuncGetName(&name, function));
  SIM_EXPECT_OK(cuFuncGetModule(&module, function));
  EXPECT_STREQ(name, "fill");
  EXPECT_EQ(module, module_);
  EXPECT_EQ(cuModuleGetFunction(&function, module_, "no_such"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuModuleGetFunction(nullptr, module_, "fill"), CUDA_ERROR_INVALID_VALUE);

  unsigned count = 0;
  SIM_OK(cuModuleGetFunctionCount(&count, module_));
  std::vector<CUfunction> all(count);
  SIM_OK(cuModuleEnumerateFunctions(all.data(), count, module_));
  SIM_EXPECT_OK(cuFuncGetName(&name, all[0]));
  EXPECT_STREQ(name, "fill");  // the first of the source
}

TEST_F(ModuleTest, EveryModuleHasItsOwnGlobals) {
  CUmodule other = nullptr;
  SIM_OK(LoadKernels(test_kernels_images(), cuModuleLoadData, &other));
  const CUdeviceptr ours = Counter(module_);
  const CUdeviceptr theirs = Counter(other);
  EXPECT_NE(ours, theirs);
  const Word start = 100;
  SIM_OK(cuMemcpyHtoD(ours, &start, sizeof(start)));
  SIM_OK(Launch(Function("count_launch"), stream_, 3u));
  SIM_OK(Launch(Function("count_launch"), stream_, 0u));
  SIM_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(ReadOne(ours), 100u + 11 + 3);
  EXPECT_EQ(ReadOne(theirs), 0u);
  SIM_EXPECT_OK(cuModuleUnload(other));
  EXPECT_EQ(cuMemcpyHtoD(theirs, &start, sizeof(start)), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ModuleTest, ConstantsCanBeWritten) {
  CUdeviceptr table = 0;
  size_t bytes = 0;
  SIM_OK(cuModuleGetGlobal(&table, &bytes, module_, "constant_table"));
  ASSERT_EQ(bytes, 4 * sizeof(Word));
  EXPECT_EQ(Read(table, 4), (std::vector<Word>{3, 5, 7, 11}));
  const Word value = 1000;
  SIM_OK(cuMemcpyHtoD(table + sizeof(Word), &value, sizeof(value)));
  SIM_OK(Launch(Function("count_launch"), stream_, 1u));
  SIM_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(ReadOne(Counter(module_)), 1000u);
  EXPECT_EQ(cuModuleGetGlobal(&table, &bytes, module_, "no_such"), CUDA_ERROR_NOT_FOUND);
}

TEST_F(ModuleTest, HandlesDieWithTheModule) {
  const CUfunction function = Function("nothing");
  SIM_OK(cuModuleUnload(module_));
  const unsigned long long stale = simcudaStaleHandleUses();
  EXPECT_EQ(Launch(function, stream_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleUnload(module_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(simcudaStaleHandleUses(), stale + 2);
}

// Unloading waits for the work that uses the module.
TEST_F(ModuleTest, UnloadingWaits) {
  const CUdeviceptr out = Words(4);
  const CUfunction fill = Loaded("fill");
  Gate gate;
  gate.Park(stream_);
  SIM_OK(Launch(fill, stream_, out, size_t{4}, Word{9}));
  std::atomic<bool> unloaded{false};
  std::thread unloader([&] {
    EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleUnload(module_), CUDA_SUCCESS);
    unloaded = true;
  });
  LetWorkersRun();
  EXPECT_FALSE(unloaded);
  gate.Open();
  unloader.join();
  EXPECT_EQ(Read(out, 4), std::vector<Word>(4, 9));
}

TEST_F(ModuleTest, ParamInfoKnowsOnlyItsOwnKind) {
  const CUlibrary library = LoadLibrary();
  CUkernel kernel = nullptr;
  SIM_OK(cuLibraryGetKernel(&kernel, library, "mixed_parameters"));
  const CUfunction function = Function("mixed_parameters");
  const size_t offsets[] = {0, 8, 16, 32, 48, 56, 64};
  const size_t sizes[] = {1, 8, 2, 16, 1, 8, 8};
  for (size_t i = 0; i < 7; ++i) {
    size_t offset = 0;
    size_t size = 0;
    SIM_EXPECT_OK(cuFuncGetParamInfo(function, i, &offset, &size));
    EXPECT_EQ(offset, offsets[i]);
    EXPECT_EQ(size, sizes[i]);
    SIM_EXPECT_OK(cuKernelGetParamInfo(kernel, i, &offset, &size));
    EXPECT_EQ(offset, offsets[i]);
    EXPECT_EQ(size, sizes[i]);
    SIM_EXPECT_OK(cuFuncGetParamInfo(function, i, &offset, nullptr));
  }
  const unsigned long long stale = simcudaStaleHandleUses();
  size_t offset = 0;
  size_t size = 0;
  EXPECT_EQ(cuFuncGetParamInfo(function, 7, &offset, &size), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuKernelGetParamInfo(kernel, 7, &offset, &size), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncGetParamInfo(reinterpret_cast<CUfunction>(kernel), 0, &offset, &size),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuKernelGetParamInfo(reinterpret_cast<CUkernel>(function), 0, &offset, &size),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(simcudaStaleHandleUses(), stale);  // live handles, only of the other kind
}

TEST_F(ModuleTest, LibrariesAndKernels) {
  const CUlibrary library = LoadLibrary();
  unsigned count = 0;
  SIM_OK(cuLibraryGetKernelCount(&count, library));
  std::vector<CUkernel> kernels(count);
  SIM_OK(cuLibraryEnumerateKernels(kernels.data(), count, library));
  const char* name = nullptr;
  SIM_EXPECT_OK(cuKernelGetName(&name, kernels[0]));
  EXPECT_STREQ(name, "fill");
  CUlibrary of_kernel = nullptr;
  SIM_EXPECT_OK(cuKernelGetLibrary(&of_kernel, kernels[0]));
  EXPECT_EQ(of_kernel, library);

  // A kernel is launched in a function's place, and stands for one function in each context.
  const CUdeviceptr out = Words(8);
  SIM_OK(Launch(reinterpret_cast<CUfunction>(kernels[0]), stream_, out, size_t{8}, Word{7}));
  SIM_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(Read(out, 8), std::vector<Word>(8, 7));
  CUfunction function = nullptr;
  CUfunction again = nullptr;
  SIM_OK(cuKernelGetFunction(&function, kernels[0]));
  SIM_OK(cuKernelGetFunction(&again, kernels[0]));
  EXPECT_EQ(function, again);
  CUmodule module = nullptr;
  SIM_OK(cuLibraryGetModule(&module, library));
  EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_NOT_PERMITTED);

  SIM_OK(cuLibraryUnload(library));
  EXPECT_EQ(Launch(reinterpret_cast<CUfunction>(kernels[0]), stream_, out, size_t{8}, Word{7}),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Launch(function, stream_, out, size_t{8}, Word{7}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ModuleTest, ALibraryHasGlobalsInEveryContext) {
  const CUlibrary library = LoadLibrary();
  CUdeviceptr here = 0;
  size_t bytes = 0;
  SIM_OK(cuLibraryGetGlobal(&here, &bytes, library, "launch_counter"));
  CUcontext other = nullptr;
  CUctxCreateParams params = {};
  SIM_OK(cuCtxCreate(&other, &params, 0, 0));
  CUdeviceptr there = 0;
  SIM_OK(cuLibraryGetGlobal(&there, &bytes, library, "launch_counter"));
  EXPECT_NE(here, there);
  SIM_OK(cuCtxDestroy(other));
  SIM_EXPECT_OK(cuCtxSetCurrent(context_));
  SIM_EXPECT_OK(cuLibraryUnload(library));
}

TEST_F(ModuleTest, FunctionsStayInTheirContext) {
  const CUfunction function = Function("nothing");
  CUcontext other = nullptr;
  CUctxCreateParams params = {};
  SIM_OK(cuCtxCreate(&other, &params, 0, 0));
  EXPECT_EQ(Launch(function, nullptr), CUDA_ERROR_INVALID_HANDLE);
  SIM_OK(cuCtxDestroy(other));
  SIM_EXPECT_OK(cuCtxSetCurrent(context_));
  SIM_EXPECT_OK(Launch(function, nullptr));
}

TEST_F(ModuleTest, Attributes) {
  const CUfunction function = Function("nothing");
  int value = 0;
  SIM_OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
  EXPECT_EQ(value, 1024);
  SIM_OK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 << 10));
  SIM_OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
  EXPECT_EQ(value, 100 << 10);
  EXPECT_EQ(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 20),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS, 1), CUDA_ERROR_INVALID_VALUE);

  int blocks = 0;
  SIM_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 0));
  EXPECT_EQ(blocks, 8);
  SIM_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 100 << 10));
  EXPECT_EQ(blocks, 2);
  int grid = 0;
  int block = 0;
  SIM_OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, function, nullptr, 0, 0));
  EXPECT_EQ(grid * block, 132 * 2048);
}

// Loads and unloads from several threads; every module counts for itself.
TEST_F(ModuleTest, ThreadsLoadAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
      for (int i = 0; i < 5; ++i) {
        CUmodule module = nullptr;
        CUfunction count = nullptr;
        ASSERT_EQ(LoadKernels(test_kernels_images(), cuModuleLoadData, &module), CUDA_SUCCESS);
        EXPECT_EQ(cuModuleGetFunction(&count, module, "count_launch"), CUDA_SUCCESS);
        EXPECT_EQ(Launch(count, nullptr, 2u), CUDA_SUCCESS);
        EXPECT_EQ(ReadOne(Counter(module)), 7u);
        EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace simcuda
