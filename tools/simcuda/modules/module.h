#ifndef VRAMSPAN_TOOLS_SIMCUDA_MODULES_MODULE_H_
#define VRAMSPAN_TOOLS_SIMCUDA_MODULES_MODULE_H_

// Modules and functions (of one context), libraries and kernels (of none). Thread-safe.
//
// A library keeps its image as a file and makes a module of it in every context that asks. Modules
// are kept alive by their handle, functions by their module; an op that runs a function holds only
// the image. What a destroyed context left behind is swept out when the next module is made.

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "tools/simcuda/context.h"
#include "tools/simcuda/handle_table.h"
#include "tools/simcuda/modules/image.h"
#include "tools/simcuda/mutex.h"

namespace simcuda {

class Module;
class Library;

// What cuFuncSetAttribute and cuKernelSetAttribute set.
struct FunctionSettings {
  std::atomic<int> max_dynamic_shared{48 << 10};
  std::atomic<int> carveout{-1};
  std::atomic<int> cluster_required[3] = {0, 0, 0};
  std::atomic<int> non_portable_cluster{0};
  std::atomic<int> cluster_policy{0};

  // CUDA_ERROR_INVALID_VALUE for attributes or values that the device does not have.
  CUresult Get(CUfunction_attribute attribute, int* value) const;
  CUresult Set(CUfunction_attribute attribute, int value);
  void CopyFrom(const FunctionSettings& other);
};

// What the calls from before cuLaunchKernel set piece by piece: the next launch by them, which
// takes it as it then is (calls_old_launch.cc).
struct OldLaunch {
  abi::Extent block = {0, 0, 0};
  unsigned shared_bytes = 0;
  size_t param_bytes = 0;
  std::vector<char> params;
};

class Function {
 public:
  Function(Module& module, const Image::Kernel& code);

  Module& module() const { return module_; }
  const Image::Kernel& code() const { return code_; }
  CUfunction handle() const { return handle_; }
  FunctionSettings& settings() { return settings_; }
  void ChangeOldLaunch(const std::function<void(OldLaunch&)>& change) {
    MutexLock lock(old_launch_mutex_);
    change(old_launch_);
  }
  OldLaunch old_launch() {
    MutexLock lock(old_launch_mutex_);
    return old_launch_;
  }

  bool loaded() const { return loaded_.load(std::memory_order_acquire); }
  // What cuFuncLoad does: no waiting.
  void MarkLoaded() { loaded_.store(true, std::memory_order_release); }
  // What a launch does. The first one of a function that was not loaded waits until all work
  // submitted to the context before has finished, as a lazily loading driver does.
  void LoadForLaunch();

 private:
  Module& module_;
  const Image::Kernel& code_;
  CUfunction handle_ = nullptr;
  FunctionSettings settings_;
  Mutex old_launch_mutex_;
  OldLaunch old_launch_ SIMCUDA_GUARDED_BY(old_launch_mutex_);
  std::atomic<bool> loaded_;

  friend class Module;
};
using FunctionPtr = std::shared_ptr<Function>;  // shares the module's count

class Module : public std::enable_shared_from_this<Module> {
 public:
  // Enters the module's globals in the address map and its functions in their table.
  static CUresult Create(const ContextPtr& context, const ImageFile& file, bool of_library,
                         std::shared_ptr<Module>* module);
  ~Module();

  const ContextPtr& context() const { return context_; }
  const ImagePtr& image() const { return image_; }
  CUmodule handle() const { return handle_; }
  // cuModuleUnload refuses a library's module.
  bool of_library() const { return of_library_; }
  const std::vector<std::unique_ptr<Function>>& functions() const { return functions_; }
  Function* FindFunction(std::string_view name) const;
  FunctionPtr Share(Function* function) { return {shared_from_this(), function}; }

  // Takes the handles of the module and of its functions out of their tables.
  void Retire();

 private:
  Module(ContextPtr context, ImagePtr image, bool of_library);

  const ContextPtr context_;
  const ImagePtr image_;
  const bool of_library_;
  CUmodule handle_ = nullptr;
  std::vector<std::unique_ptr<Function>> functions_;
};
using ModulePtr = std::shared_ptr<Module>;

class Kernel {
 public:
  Kernel(Library& library, size_t index) : library_(library), index_(index) {}

  Library& library() const { return library_; }
  const Image::Kernel& code() const;
  CUkernel handle() const { return handle_; }
  FunctionSettings& settings() { return settings_; }
  // The kernel's function in the context; makes the library's module there at the first call.
  CUresult InContext(const ContextPtr& context, FunctionPtr* function);
  // The kernel's function in every context that has one; stops at the first error.
  CUresult ForEachFunction(const std::function<CUresult(Function&)>& visit);

 private:
  Library& library_;
  const size_t index_;
  CUkernel handle_ = nullptr;
  FunctionSettings settings_;

  friend class Library;
};
using KernelPtr = std::shared_ptr<Kernel>;  // shares the library's count

class Library : public std::enable_shared_from_this<Library> {
 public:
  static CUresult Create(ImageFile file, std::shared_ptr<Library>* library);

  CUlibrary handle() const { return handle_; }
  const std::vector<std::unique_ptr<Kernel>>& kernels() const { return kernels_; }
  const ImagePtr& image() const { return image_; }
  Kernel* FindKernel(std::string_view name) const;
  KernelPtr Share(Kernel* kernel) { return {shared_from_this(), kernel}; }
  CUresult InContext(const ContextPtr& context, ModulePtr* module);
  std::vector<ModulePtr> LoadedModules();

  void Retire();

 private:
  Library(ImageFile file, ImagePtr image);

  const ImageFile file_;
  const ImagePtr image_;  // for what it says; runs nothing
  CUlibrary handle_ = nullptr;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  Mutex mutex_;
  std::map<uint64_t, ModulePtr> modules_ SIMCUDA_GUARDED_BY(mutex_);  // by context id
};
using LibraryPtr = std::shared_ptr<Library>;

HandleTable<CUmodule, Module>& Modules();
HandleTable<CUfunction, Function>& Functions();
HandleTable<CUlibrary, Library>& Libraries();
HandleTable<CUkernel, Kernel>& Kernels();

// CUDA_ERROR_INVALID_HANDLE where the handle names none, stale or of the other kind.
CUresult FindFunctionHandle(CUfunction handle, FunctionPtr* function);
CUresult FindKernelHandle(CUkernel handle, KernelPtr* kernel);

// For calls that take either: a CUkernel stands for its function in the context.
CUresult FindLaunchable(CUfunction handle, const ContextPtr& context, FunctionPtr* function);

// CUDA_MODULE_LOADING; lazy unless it says EAGER.
bool LazyLoading();

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_MODULES_MODULE_H_
