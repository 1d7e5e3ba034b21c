// Libraries and kernels.

#include <utility>

#include "tools/simcuda/calls_module.h"
#include "tools/simcuda/driver.h"
#include "tools/simcuda/modules/module.h"
#include "tools/simcuda/thread.h"

namespace simcuda::calls {
namespace {

CUresult FindLibrary(CUlibrary handle, LibraryPtr* library) {
  *library = Libraries().Find(handle);
  return *library ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult CheckOptions(CUjit_option* jit_options, void** jit_values, unsigned jit_count,
                      CUlibraryOption* options, unsigned count) {
  if (jit_count != 0 && (jit_options == nullptr || jit_values == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (count != 0 && options == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] < 0 || options[i] >= CU_LIBRARY_NUM_OPTIONS) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult MakeLibrary(ImageFile file, CUlibrary* handle) {
  LibraryPtr library;
  const CUresult result = Library::Create(std::move(file), &library);
  if (result == CUDA_SUCCESS) *handle = library->handle();
  return result;
}

// The kernel's function on a device, through that device's primary or the current context: only its
// attributes are the device's.
CUresult FindOnDevice(CUkernel handle, CUdevice device, KernelPtr* kernel) {
  if (Driver::Get().device(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  return FindKernelHandle(handle, kernel);
}

}  // namespace

CUresult LibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jit_options,
                         void** jit_values, unsigned jit_count, CUlibraryOption* options,
                         void** /*values*/, unsigned count) {
  if (library == nullptr || code == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = CheckOptions(jit_options, jit_values, jit_count, options, count);
  if (result != CUDA_SUCCESS) return result;
  ImageFile file;
  result = ReadImageFromMemory(code, &file);
  return result == CUDA_SUCCESS ? MakeLibrary(std::move(file), library) : result;
}

CUresult LibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option* jit_options,
                             void** jit_values, unsigned jit_count, CUlibraryOption* options,
                             void** /*values*/, unsigned count) {
  if (library == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = CheckOptions(jit_options, jit_values, jit_count, options, count);
  if (result != CUDA_SUCCESS) return result;
  ImageFile file;
  result = ReadImageFromPath(path, &file);
  return result == CUDA_SUCCESS ? MakeLibrary(std::move(file), library) : result;
}

CUresult LibraryUnload(CUlibrary handle) {
  LibraryPtr library;
  const CUresult result = FindLibrary(handle, &library);
  if (result == CUDA_SUCCESS) library->Retire();
  return result;
}

CUresult LibraryGetKernel(CUkernel* kernel, CUlibrary handle, const char* name) {
  if (kernel == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  LibraryPtr library;
  const CUresult result = FindLibrary(handle, &library);
  if (result != CUDA_SUCCESS) return result;
  const Kernel* found = library->FindKernel(name);
  if (found == nullptr) return CUDA_ERROR_NOT_FOUND;
  *kernel = found->handle();
  return CUDA_SUCCESS;
}

CUresult LibraryGetKernelCount(unsigned* count, CUlibrary handle) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  LibraryPtr library;
  const CUresult result = FindLibrary(handle, &library);
  if (result == CUDA_SUCCESS) *count = static_cast<unsigned>(library->kernels().size());
  return result;
}

CUresult LibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary handle) {
  if (kernels == nullptr && count != 0) return CUDA_ERROR_INVALID_VALUE;
  LibraryPtr library;
  const CUresult result = FindLibrary(handle, &library);
  if (result != CUDA_SUCCESS) return result;
  for (size_t i = 0; i < count && i < library->kernels().size(); ++i) {
    kernels[i] = library->kernels()[i]->handle();
  }
  return CUDA_SUCCESS;
}

CUresult LibraryGetModule(CUmodule* handle, CUlibrary library_handle) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  LibraryPtr library;
  CUresult result = FindLibrary(library_handle, &library);
  if (result != CUDA_SUCCESS) return result;
  ModulePtr module;
  result = library->InContext(CurrentContext(), &module);
  if (result == CUDA_SUCCESS) *handle = module->handle();
  return result;
}

CUresult LibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library,
                          const char* name) {
  CUmodule module = nullptr;
  const CUresult result = LibraryGetModule(&module, library);
  return result == CUDA_SUCCESS ? ModuleGetGlobal(address, bytes, module, name) : result;
}

// Host images do not tell a __managed__ variable from a __device__ one.
CUresult LibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary library,
                           const char* name) {
  return LibraryGetGlobal(address, bytes, library, name);
}

CUresult KernelGetFunction(CUfunction* function, CUkernel handle) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  KernelPtr kernel;
  CUresult result = FindKernelHandle(handle, &kernel);
  if (result != CUDA_SUCCESS) return result;
  FunctionPtr found;
  result = kernel->InContext(CurrentContext(), &found);
  if (result == CUDA_SUCCESS) *function = found->handle();
  return result;
}

CUresult KernelGetLibrary(CUlibrary* library, CUkernel handle) {
  if (library == nullptr) return CUDA_ERROR_INVALID_VALUE;
  KernelPtr kernel;
  const CUresult result = FindKernelHandle(handle, &kernel);
  if (result == CUDA_SUCCESS) *library = kernel->library().handle();
  return result;
}

CUresult KernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel handle,
                            CUdevice device) {
  KernelPtr kernel;
  const CUresult result = FindOnDevice(handle, device, &kernel);
  return result == CUDA_SUCCESS ? kernel->settings().Get(attribute, value) : result;
}

CUresult KernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle,
                            CUdevice device) {
  KernelPtr kernel;
  CUresult result = FindOnDevice(handle, device, &kernel);
  if (result == CUDA_SUCCESS) result = kernel->settings().Set(attribute, value);
  if (result != CUDA_SUCCESS) return result;
  return kernel->ForEachFunction([&](Function& function) {
    return function.module().context()->device().ordinal() == device
               ? function.settings().Set(attribute, value)
               : CUDA_SUCCESS;
  });
}

CUresult KernelSetCacheConfig(CUkernel handle, CUfunc_cache config, CUdevice device) {
  if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  KernelPtr kernel;
  return FindOnDevice(handle, device, &kernel);
}

CUresult KernelGetName(const char** name, CUkernel handle) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  KernelPtr kernel;
  const CUresult result = FindKernelHandle(handle, &kernel);
  if (result == CUDA_SUCCESS) *name = kernel->code().name.c_str();
  return result;
}

CUresult KernelGetParamInfo(CUkernel handle, size_t index, size_t* offset, size_t* size) {
  if (offset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  KernelPtr kernel;
  const CUresult result = FindKernelHandle(handle, &kernel);
  if (result != CUDA_SUCCESS) return result;
  const auto& params = kernel->code().params;
  if (index >= params.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = params[index].offset;
  if (size != nullptr) *size = params[index].size;
  return CUDA_SUCCESS;
}

}  // namespace simcuda::calls
