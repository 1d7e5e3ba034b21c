#include "runtime/observe/module_images.h"

#include <cerrno>
#include <cstdlib>

#include "runtime/observe/image_hash.h"
#include "runtime/observe/kept_images.h"
#include "runtime/observe/readable.h"

namespace vramspan {

ModuleImages& ModuleImages::Get() {
  // Modules outlive what ends at exit. Known from the first one on: they are loaded before there is
  // a runtime.
  static ModuleImages* const images = new ModuleImages(secure_getenv(kReaderVariable) != nullptr);
  return *images;
}

void ModuleImages::Put(const void* handle, Image image) {
  const auto known = images_.find(handle);
  if (known != images_.end()) {
    known->second = std::move(image);
  } else if (images_.size() < kMost) {
    images_.emplace(handle, std::move(image));
  }
}

void ModuleImages::Loaded(const void* handle, const void* image, bool preserved) {
  const int before = errno;  // The program's own call is yet to return.
  KeptImages* const kept = KeptImages::Get();
  Image known = {.preserved = preserved ? image : nullptr};
  if (!preserved || kept != nullptr) {
    known.hash = HashOfImage(image);
    known.hashed = true;
  }
  if (kept != nullptr) kept->Keep(image, known.hash);
  if (!preserved && known.hash != 0) known.copy = Copy(image);
  {
    MutexLock lock(mu_);
    Put(handle, std::move(known));
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
  if (image.hashed) return image.hash;
  const uint64_t hash = HashOfImage(image.preserved);
  MutexLock lock(mu_);
  const auto known = images_.find(handle);
  if (known != images_.end() && known->second.preserved == image.preserved) {
    known->second.hash = hash;
    known->second.hashed = true;
  }
  return hash;
}

std::shared_ptr<const void> ModuleImages::Copy(const void* image) {
  if (!copies_) return nullptr;
  image = UnwrappedImage(image);
  const uint64_t size = SizeOfImage(image);
  if (size == 0 || size > kMostCopied.value) return nullptr;
  if (copied_.fetch_add(size, std::memory_order_relaxed) + size > kMostCopied.value) {
    copied_.fetch_sub(size, std::memory_order_relaxed);
    return nullptr;
  }
  // Not by new: the program's own may do anything.
  void* const bytes = std::malloc(size);
  if (bytes == nullptr) {
    copied_.fetch_sub(size, std::memory_order_relaxed);
    return nullptr;
  }
  std::shared_ptr<const void> copy(bytes, [this, size](const void* gone) {
    std::free(const_cast<void*>(gone));
    copied_.fetch_sub(size, std::memory_order_relaxed);
  });
  return ReadIfMapped(image, bytes, size) == size ? copy : nullptr;
}

std::shared_ptr<const void> ModuleImages::Find(uint64_t hash) {
  MutexLock lock(mu_);
  for (const auto& [handle, image] : images_) {
    if (!image.hashed || image.hash != hash) continue;
    if (image.copy != nullptr) return image.copy;
    if (image.preserved != nullptr) return {image.preserved, [](const void*) {}};
  }
  return nullptr;
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
