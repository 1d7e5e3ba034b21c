#include "runtime/observe/module_images.h"

#include <cerrno>

#include "runtime/observe/image_hash.h"
#include "runtime/observe/kept_images.h"

namespace vramspan {

ModuleImages& ModuleImages::Get() {
  static ModuleImages* const images = new ModuleImages;  // Modules outlive what ends at exit.
  return *images;
}

void ModuleImages::Put(const void* handle, const Image& image) {
  const auto known = images_.find(handle);
  if (known != images_.end()) {
    known->second = image;
  } else if (images_.size() < kMost) {
    images_.emplace(handle, image);
  }
}

void ModuleImages::Loaded(const void* handle, const void* image, bool preserved) {
  const int before = errno;  // The program's own call is yet to return.
  KeptImages* const kept = KeptImages::Get();
  const bool later = preserved && kept == nullptr;
  const Image known = later ? Image{.preserved = image} : Image{.hash = HashOfImage(image)};
  if (kept != nullptr) kept->Keep(image, known.hash);
  {
    MutexLock lock(mu_);
    Put(handle, known);
  }
  errno = before;
}

void ModuleImages::Made(CUfunction function, CUkernel kernel) {
  MutexLock lock(mu_);
  if (made_.size() >= kMost) made_.clear();
  made_[function] = kernel;
}

void ModuleImages::DropFunctions() {
  MutexLock lock(mu_);
  made_.clear();
}

void ModuleImages::Unloads(const void* handle) {
  MutexLock lock(mu_);
  images_.erase(handle);
  // Which of them are its own is not known; they are made again when they are asked for.
  made_.clear();
}

uint64_t ModuleImages::HashOfHandle(const void* handle) {
  Image image;
  {
    MutexLock lock(mu_);
    const auto known = images_.find(handle);
    if (known == images_.end()) return 0;
    image = known->second;
  }
  if (image.preserved == nullptr) return image.hash;
  const uint64_t hash = HashOfImage(image.preserved);
  MutexLock lock(mu_);
  const auto known = images_.find(handle);
  if (known != images_.end() && known->second.preserved == image.preserved) {
    known->second = {.hash = hash};
  }
  return hash;
}

void ModuleImages::NoteFunctionOf(const Driver& driver, CUkernel kernel) {
  // The kernel is about to be launched, and so loaded, in a capture too.
  const ScopedRelaxed relaxed(driver);
  CUfunction function = nullptr;
  if (driver->KernelGetFunction(&function, kernel) == CUDA_SUCCESS) Made(function, kernel);
}

uint64_t ModuleImages::HashOf(const Driver& driver, const void* kernel) {
  void* const handle = const_cast<void*>(kernel);
  if (handle == nullptr) return 0;
  CUlibrary library = nullptr;
  if (driver->KernelGetLibrary(&library, static_cast<CUkernel>(handle)) == CUDA_SUCCESS) {
    NoteFunctionOf(driver, static_cast<CUkernel>(handle));
    return HashOfHandle(library);
  }
  CUmodule module = nullptr;
  const auto function = static_cast<CUfunction>(handle);
  if (driver->FuncGetModule(&module, function) != CUDA_SUCCESS) return 0;
  if (const uint64_t hash = HashOfHandle(module); hash != 0) return hash;
  CUkernel made_of = nullptr;
  {
    MutexLock lock(mu_);
    const auto made = made_.find(function);
    if (made != made_.end()) made_of = made->second;
  }
  const bool found =
      made_of != nullptr && driver->KernelGetLibrary(&library, made_of) == CUDA_SUCCESS;
  return found ? HashOfHandle(library) : 0;
}

}  // namespace vramspan
