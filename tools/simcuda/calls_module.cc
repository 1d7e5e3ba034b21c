// Modules and functions.

#include "tools/simcuda/calls_module.h"

#include <utility>

#include "tools/simcuda/capture.h"
#include "tools/simcuda/modules/module.h"
#include "tools/simcuda/thread.h"

namespace simcuda::calls {
namespace {

CUresult FindModule(CUmodule handle, ModulePtr* module) {
  *module = Modules().Find(handle);
  return *module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult MakeModule(const ImageFile& file, CUmodule* handle) {
  ModulePtr module;
  const CUresult result = Module::Create(CurrentContext(), file, /*of_library=*/false, &module);
  if (result == CUDA_SUCCESS) *handle = module->handle();
  return result;
}

}  // namespace

CUresult ModuleLoad(CUmodule* module, const char* path) {
  if (module == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ImageFile file;
  const CUresult result = ReadImageFromPath(path, &file);
  return result == CUDA_SUCCESS ? MakeModule(file, module) : result;
}

CUresult ModuleLoadData(CUmodule* module, const void* image) {
  if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ImageFile file;
  const CUresult result = ReadImageFromMemory(image, &file);
  if (result != CUDA_SUCCESS) return result;
  CurrentContext()->WaitIdleAlone();
  return MakeModule(file, module);
}

CUresult ModuleLoadDataEx(CUmodule* module, const void* image, unsigned count,
                          CUjit_option* options, void** values) {
  if (count != 0 && (options == nullptr || values == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  return ModuleLoadData(module, image);
}

CUresult ModuleLoadFatBinary(CUmodule* module, const void* image) {
  return ModuleLoadData(module, image);
}

CUresult ModuleUnload(CUmodule handle) {
  ModulePtr module;
  CUresult result = FindModule(handle, &module);
  if (result != CUDA_SUCCESS) return result;
  if (module->of_library()) return CUDA_ERROR_NOT_PERMITTED;
  result = capture::CheckUnsafeCall();
  if (result != CUDA_SUCCESS) return result;
  // Its globals may be in use by work that was submitted before. An H200's driver waits as well;
  // whether it keeps other threads out, as it does while it loads, was not seen: the worse here.
  module->context()->WaitIdleAlone();
  module->Retire();
  return CUDA_SUCCESS;
}

CUresult ModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = LazyLoading() ? CU_MODULE_LAZY_LOADING : CU_MODULE_EAGER_LOADING;
  return CUDA_SUCCESS;
}

CUresult ModuleGetFunction(CUfunction* function, CUmodule handle, const char* name) {
  if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ModulePtr module;
  const CUresult result = FindModule(handle, &module);
  if (result != CUDA_SUCCESS) return result;
  const Function* found = module->FindFunction(name);
  if (found == nullptr) return CUDA_ERROR_NOT_FOUND;
  *function = found->handle();
  return CUDA_SUCCESS;
}

CUresult ModuleGetFunctionCount(unsigned* count, CUmodule handle) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ModulePtr module;
  const CUresult result = FindModule(handle, &module);
  if (result == CUDA_SUCCESS) *count = static_cast<unsigned>(module->functions().size());
  return result;
}

CUresult ModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule handle) {
  if (functions == nullptr && count != 0) return CUDA_ERROR_INVALID_VALUE;
  ModulePtr module;
  const CUresult result = FindModule(handle, &module);
  if (result != CUDA_SUCCESS) return result;
  for (size_t i = 0; i < count && i < module->functions().size(); ++i) {
    functions[i] = module->functions()[i]->handle();
  }
  return CUDA_SUCCESS;
}

CUresult ModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule handle, const char* name) {
  if (name == nullptr || (address == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  ModulePtr module;
  const CUresult result = FindModule(handle, &module);
  if (result != CUDA_SUCCESS) return result;
  const Image::Global* global = module->image()->FindGlobal(name);
  if (global == nullptr) return CUDA_ERROR_NOT_FOUND;
  if (address != nullptr) *address = reinterpret_cast<CUdeviceptr>(global->address);
  if (bytes != nullptr) *bytes = global->bytes;
  return CUDA_SUCCESS;
}

CUresult FuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
  FunctionPtr function;
  const CUresult result = FindLaunchable(handle, CurrentContext(), &function);
  return result == CUDA_SUCCESS ? function->settings().Get(attribute, value) : result;
}

CUresult FuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  FunctionPtr function;
  const CUresult result = FindLaunchable(handle, CurrentContext(), &function);
  return result == CUDA_SUCCESS ? function->settings().Set(attribute, value) : result;
}

CUresult FuncSetCacheConfig(CUfunction handle, CUfunc_cache config) {
  if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  FunctionPtr function;
  return FindLaunchable(handle, CurrentContext(), &function);
}

CUresult FuncGetModule(CUmodule* module, CUfunction handle) {
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  FunctionPtr function;
  const CUresult result = FindFunctionHandle(handle, &function);
  if (result == CUDA_SUCCESS) *module = function->module().handle();
  return result;
}

CUresult FuncGetName(const char** name, CUfunction handle) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  FunctionPtr function;
  const CUresult result = FindFunctionHandle(handle, &function);
  if (result == CUDA_SUCCESS) *name = function->code().name.c_str();
  return result;
}

CUresult FuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* size) {
  if (offset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  FunctionPtr function;
  const CUresult result = FindFunctionHandle(handle, &function);
  if (result != CUDA_SUCCESS) return result;
  const auto& params = function->code().params;
  if (index >= params.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = params[index].offset;
  if (size != nullptr) *size = params[index].size;
  return CUDA_SUCCESS;
}

CUresult FuncIsLoaded(CUfunctionLoadingState* state, CUfunction handle) {
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  FunctionPtr function;
  const CUresult result = FindFunctionHandle(handle, &function);
  if (result != CUDA_SUCCESS) return result;
  *state =
      function->loaded() ? CU_FUNCTION_LOADING_STATE_LOADED : CU_FUNCTION_LOADING_STATE_UNLOADED;
  return CUDA_SUCCESS;
}

CUresult FuncLoad(CUfunction handle) {
  FunctionPtr function;
  const CUresult result = FindFunctionHandle(handle, &function);
  if (result == CUDA_SUCCESS) function->MarkLoaded();
  return result;
}

}  // namespace simcuda::calls
