#include "tools/simcuda/modules/module.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "tools/simcuda/memory/address_map.h"

namespace simcuda {
namespace {

CUdeviceptr AddressOf(const Image::Global& global) {
  return reinterpret_cast<CUdeviceptr>(global.address);
}

// Modules of contexts that were destroyed.
void SweepModules() {
  for (const auto& [handle, module] : Modules().All()) {
    if (module->context()->error() == CUDA_ERROR_CONTEXT_IS_DESTROYED) module->Retire();
  }
}

}  // namespace

bool LazyLoading() {
  static const bool lazy = [] {
    const char* mode = getenv("CUDA_MODULE_LOADING");
    return mode == nullptr || strcmp(mode, "EAGER") != 0;
  }();
  return lazy;
}

Function::Function(Module& module, const Image::Kernel& code)
    : module_(module), code_(code), loaded_(!LazyLoading()) {}

void Function::LoadForLaunch() {
  if (loaded()) return;
  module_.context()->WaitIdle();
  MarkLoaded();
}

Module::Module(ContextPtr context, ImagePtr image, bool of_library)
    : context_(std::move(context)), image_(std::move(image)), of_library_(of_library) {}

CUresult Module::Create(const ContextPtr& context, const ImageFile& file, bool of_library,
                        std::shared_ptr<Module>* module) {
  SweepModules();
  ImagePtr image;
  const CUresult result = Image::Load(file, &image);
  if (result != CUDA_SUCCESS) return result;
  ModulePtr made(new Module(context, std::move(image), of_library));
  for (const Image::Global& global : made->image_->globals()) {
    memory::Range range;
    range.base = static_cast<char*>(global.address);
    range.size = global.bytes;
    range.kind = memory::RangeKind::kModule;
    range.device = &context->device();
    range.context = context->handle();
    memory::AddressMap::Get().Insert(std::move(range));
  }
  for (const Image::Kernel& code : made->image_->kernels()) {
    made->functions_.push_back(std::make_unique<Function>(*made, code));
  }
  for (const auto& function : made->functions_) {
    function->handle_ = Functions().NewHandle();
    Functions().InsertAs(function->handle_, made->Share(function.get()));
  }
  made->handle_ = Modules().NewHandle();
  Modules().InsertAs(made->handle_, made);
  *module = std::move(made);
  return CUDA_SUCCESS;
}

Module::~Module() {
  for (const Image::Global& global : image_->globals()) {
    memory::AddressMap::Get().Remove(AddressOf(global), memory::RangeKind::kModule);
  }
}

void Module::Retire() {
  Modules().RemoveThis(handle_, this);
  for (const auto& function : functions_) Functions().RemoveThis(function->handle_, function.get());
}

Function* Module::FindFunction(std::string_view name) const {
  for (const auto& function : functions_) {
    if (function->code().name == name) return function.get();
  }
  return nullptr;
}

const Image::Kernel& Kernel::code() const { return library_.image()->kernels()[index_]; }

CUresult Kernel::InContext(const ContextPtr& context, FunctionPtr* function) {
  ModulePtr module;
  const CUresult result = library_.InContext(context, &module);
  if (result != CUDA_SUCCESS) return result;
  *function = module->Share(module->functions()[index_].get());
  return CUDA_SUCCESS;
}

CUresult Kernel::ForEachFunction(const std::function<CUresult(Function&)>& visit) {
  for (const ModulePtr& module : library_.LoadedModules()) {
    const CUresult result = visit(*module->functions()[index_]);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

Library::Library(ImageFile file, ImagePtr image)
    : file_(std::move(file)), image_(std::move(image)) {
  for (size_t i = 0; i < image_->kernels().size(); ++i) {
    kernels_.push_back(std::make_unique<Kernel>(*this, i));
  }
}

CUresult Library::Create(ImageFile file, std::shared_ptr<Library>* library) {
  ImagePtr image;
  const CUresult result = Image::Load(file, &image);
  if (result != CUDA_SUCCESS) return result;
  LibraryPtr made(new Library(std::move(file), std::move(image)));
  for (const auto& kernel : made->kernels_) {
    kernel->handle_ = Kernels().NewHandle();
    Kernels().InsertAs(kernel->handle_, made->Share(kernel.get()));
  }
  made->handle_ = Libraries().NewHandle();
  Libraries().InsertAs(made->handle_, made);
  *library = std::move(made);
  return CUDA_SUCCESS;
}

CUresult Library::InContext(const ContextPtr& context, ModulePtr* module) {
  MutexLock lock(mutex_);
  ModulePtr& made = modules_[context->id()];
  if (!made) {
    ImageFile copy;
    CUresult result = CopyImageFile(file_, &copy);
    if (result == CUDA_SUCCESS) result = Module::Create(context, copy, /*of_library=*/true, &made);
    if (result != CUDA_SUCCESS) return result;
    for (size_t i = 0; i < kernels_.size(); ++i) {
      FunctionSettings& settings = made->functions()[i]->settings();
      settings.CopyFrom(kernels_[i]->settings_);
    }
  }
  *module = made;
  return CUDA_SUCCESS;
}

std::vector<ModulePtr> Library::LoadedModules() {
  MutexLock lock(mutex_);
  std::vector<ModulePtr> modules;
  for (const auto& [context, module] : modules_) modules.push_back(module);
  return modules;
}

Kernel* Library::FindKernel(std::string_view name) const {
  for (const auto& kernel : kernels_) {
    if (kernel->code().name == name) return kernel.get();
  }
  return nullptr;
}

void Library::Retire() {
  Libraries().RemoveThis(handle_, this);
  for (const auto& kernel : kernels_) Kernels().RemoveThis(kernel->handle_, kernel.get());
  MutexLock lock(mutex_);
  for (const auto& [context, module] : modules_) module->Retire();
  modules_.clear();
}

HandleTable<CUmodule, Module>& Modules() {
  static auto* const table = new HandleTable<CUmodule, Module>();
  return *table;
}

HandleTable<CUfunction, Function>& Functions() {
  static auto* const table = new HandleTable<CUfunction, Function>();
  return *table;
}

HandleTable<CUlibrary, Library>& Libraries() {
  static auto* const table = new HandleTable<CUlibrary, Library>();
  return *table;
}

HandleTable<CUkernel, Kernel>& Kernels() {
  static auto* const table = new HandleTable<CUkernel, Kernel>();
  return *table;
}

CUresult FindFunctionHandle(CUfunction handle, FunctionPtr* function) {
  *function = Functions().FindQuietly(handle);
  if (*function) return CUDA_SUCCESS;
  // A live kernel in a function's place is refused, but it is no stale handle.
  if (!Kernels().FindQuietly(reinterpret_cast<CUkernel>(handle)) && handle != nullptr) {
    StaleHandleUses().fetch_add(1, std::memory_order_relaxed);
  }
  return CUDA_ERROR_INVALID_HANDLE;
}

CUresult FindKernelHandle(CUkernel handle, KernelPtr* kernel) {
  *kernel = Kernels().FindQuietly(handle);
  if (*kernel) return CUDA_SUCCESS;
  if (!Functions().FindQuietly(reinterpret_cast<CUfunction>(handle)) && handle != nullptr) {
    StaleHandleUses().fetch_add(1, std::memory_order_relaxed);
  }
  return CUDA_ERROR_INVALID_HANDLE;
}

CUresult FindLaunchable(CUfunction handle, const ContextPtr& context, FunctionPtr* function) {
  *function = Functions().FindQuietly(handle);
  if (*function) {
    return (*function)->module().context() == context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  }
  KernelPtr kernel;
  const CUresult result = FindKernelHandle(reinterpret_cast<CUkernel>(handle), &kernel);
  return result == CUDA_SUCCESS ? kernel->InContext(context, function) : result;
}

}  // namespace simcuda
