#ifndef VRAMSPAN_TOOLS_SIMCUDA_CALLS_MODULE_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CALLS_MODULE_H_

// Modules, libraries, functions, kernels and occupancy: what cuda.h says of the cu* calls of the
// same names. Each assumes what its row's Needs promises.

#include <cuda.h>

#include <cstddef>

namespace simcuda::calls {

CUresult ModuleLoad(CUmodule* module, const char* path);
CUresult ModuleLoadData(CUmodule* module, const void* image);
CUresult ModuleLoadDataEx(CUmodule* module, const void* image, unsigned count,
                          CUjit_option* options, void** values);
CUresult ModuleLoadFatBinary(CUmodule* module, const void* image);
CUresult ModuleUnload(CUmodule module);
CUresult ModuleGetLoadingMode(CUmoduleLoadingMode* mode);
CUresult ModuleGetFunction(CUfunction* function, CUmodule module, const char* name);
CUresult ModuleGetFunctionCount(unsigned* count, CUmodule module);
CUresult ModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule module);
CUresult ModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name);

CUresult LibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jit_options,
                         void** jit_values, unsigned jit_count, CUlibraryOption* options,
                         void** values, unsigned count);
CUresult LibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option* jit_options,
                             void** jit_values, unsigned jit_count, CUlibraryOption* options,
                             void** values, unsigned count);
CUresult LibraryUnload(CUlibrary library);
CUresult LibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name);
CUresult LibraryGetKernelCount(unsigned* count, CUlibrary library);
CUresult LibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary library);
CUresult LibraryGetModule(CUmodule* module, CUlibrary library);
CUresult LibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name);
CUresult LibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary library,
                           const char* name);

CUresult KernelGetFunction(CUfunction* function, CUkernel kernel);
CUresult KernelGetLibrary(CUlibrary* library, CUkernel kernel);
CUresult KernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel,
                            CUdevice device);
CUresult KernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                            CUdevice device);
CUresult KernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device);
CUresult KernelGetName(const char** name, CUkernel kernel);
CUresult KernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* size);

CUresult FuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function);
CUresult FuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value);
CUresult FuncSetCacheConfig(CUfunction function, CUfunc_cache config);
CUresult FuncGetModule(CUmodule* module, CUfunction function);
CUresult FuncGetName(const char** name, CUfunction function);
CUresult FuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* size);
CUresult FuncIsLoaded(CUfunctionLoadingState* state, CUfunction function);
CUresult FuncLoad(CUfunction function);

CUresult OccupancyMaxActiveBlocks(int* blocks, CUfunction function, int block_threads,
                                  size_t dynamic_shared);
CUresult OccupancyMaxActiveBlocksWithFlags(int* blocks, CUfunction function, int block_threads,
                                           size_t dynamic_shared, unsigned flags);
CUresult OccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function,
                                        CUoccupancyB2DSize shared_of_block, size_t dynamic_shared,
                                        int block_limit);
CUresult OccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction function,
                                                 CUoccupancyB2DSize shared_of_block,
                                                 size_t dynamic_shared, int block_limit,
                                                 unsigned flags);
CUresult OccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction function, int blocks,
                                               int block_threads);

}  // namespace simcuda::calls

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CALLS_MODULE_H_
