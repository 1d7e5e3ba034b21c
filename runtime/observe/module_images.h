// Which image each module and library of the process was loaded from, by its handle, as a hash
// (image_hash.h). Images are loaded before there is a runtime, so this is the process's own.
//
// An image that the program promises to keep (CU_LIBRARY_BINARY_IS_PRESERVED) is hashed when its
// hash is first asked for, which may take milliseconds; others when they are loaded. Whoever loads
// and unloads tells, on every path (docs/identities.md): a handle that comes again is another's.
//
// Where code is read while the program runs (code_reading.h), images are to be had until they are
// unloaded: the others are copied, as far as there is room.
//
// Threads: any.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_MODULE_IMAGES_H_
#define VRAMSPAN_RUNTIME_OBSERVE_MODULE_IMAGES_H_

#include <absl/container/flat_hash_map.h>
#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "runtime/base/mutex.h"
#include "runtime/driver/driver.h"

namespace vramspan {

// The folder in which whoever reads code while the program runs is asked (api/code_reading.h).
inline constexpr char kReaderVariable[] = "VRAMSPAN_READER";

class ModuleImages {
 public:
  // Of more nothing is known.
  static constexpr size_t kMost = size_t{1} << 16;
  // Of all copies.
  static constexpr Bytes kMostCopied = MiB(64);

  static ModuleImages& Get();
  // `copies`: images stay to be had, also where the program promises nothing.
  explicit ModuleImages(bool copies) : copies_(copies) {}

  // The driver has loaded it; null: from an image that nobody saw. `preserved`: the image stays
  // where it is until Unloads.
  void Loaded(const void* handle, const void* image, bool preserved) VS_EXCLUDES(mu_);
  // A function was made of a library's kernel.
  void Made(CUfunction function, CUkernel kernel) VS_EXCLUDES(mu_);
  // All functions went with their context, or may have.
  void DropFunctions() VS_EXCLUDES(mu_);
  // The driver is about to unload it: the handle may be another's at once.
  void Unloads(const void* handle) VS_EXCLUDES(mu_);

  // Of the image that holds the code; 0: not known.
  uint64_t HashOf(const Driver& driver, const void* kernel) VS_EXCLUDES(mu_);

  // Where an image of this hash lies, as far as it does: read it only in a way that survives that
  // the program unloads it meanwhile. Null: it is not to be had.
  std::shared_ptr<const void> Find(uint64_t hash) VS_EXCLUDES(mu_);

 private:
  struct Image {
    bool hashed = false;
    uint64_t hash = 0;
    const void* preserved = nullptr;
    std::shared_ptr<const void> copy;
  };

  // Null: nobody wants it, it is too large, or cannot be read.
  std::shared_ptr<const void> Copy(const void* image);

  uint64_t HashOfHandle(const void* handle) VS_EXCLUDES(mu_);
  // In the current context. Nodes of graphs name it where the program launched the kernel itself.
  void NoteFunctionOf(const Driver& driver, CUkernel kernel) VS_EXCLUDES(mu_);
  void Put(const void* handle, Image image) VS_REQUIRES(mu_);

  Mutex mu_;
  absl::flat_hash_map<const void*, Image> images_ VS_GUARDED_BY(mu_);
  absl::flat_hash_map<CUfunction, CUkernel> made_ VS_GUARDED_BY(mu_);
  const bool copies_;
  std::atomic<uint64_t> copied_{0};
};

// What a call that loads or unloads says, by CUPTI's struct of its parameters.
template <typename P>
void NoteLoaded(const P& p) {
  ModuleImages& images = ModuleImages::Get();
  if constexpr (requires { p.pFunc; }) {
    if (p.pFunc != nullptr) images.Made(*p.pFunc, p.kernel);
  } else if constexpr (requires { p.code; }) {
    bool preserved = false;
    for (unsigned i = 0; i < p.numLibraryOptions; ++i) {
      preserved |= p.libraryOptions[i] == CU_LIBRARY_BINARY_IS_PRESERVED;
    }
    if (p.library != nullptr) images.Loaded(*p.library, p.code, preserved);
  } else if constexpr (requires { p.library; }) {
    if (p.library != nullptr) images.Loaded(*p.library, nullptr, false);
  } else if constexpr (requires { p.image; }) {
    if (p.module != nullptr) images.Loaded(*p.module, p.image, false);
  } else if constexpr (requires { p.fatCubin; }) {
    if (p.module != nullptr) images.Loaded(*p.module, p.fatCubin, false);
  } else {
    if (p.module != nullptr) images.Loaded(*p.module, nullptr, false);
  }
}
template <typename P>
void NoteUnloads(const P& p) {
  if constexpr (requires { p.library; }) {
    ModuleImages::Get().Unloads(p.library);
  } else {
    ModuleImages::Get().Unloads(p.hmod);
  }
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_MODULE_IMAGES_H_
