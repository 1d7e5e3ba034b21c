#include "runtime/preload/torch_caller.h"

#include <dlfcn.h>
#include <link.h>
#include <unwind.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "runtime/preload/torch_blocks.h"

namespace vramspan::preload {
namespace {

constexpr std::string_view kTorchCuda = "libc10_cuda.so";
constexpr int kMostFrames = 32;

std::atomic<bool> wrapped{false};

std::string_view FileOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// As wheels have it, too: libcudart-01234567.so.13.
bool IsRuntime(std::string_view file) {
  return file.starts_with("libcudart.so") || file.starts_with("libcudart-");
}

// Which library has the address. A program's own file has no name.
struct Place {
  uintptr_t address = 0;
  bool found = false;
  uintptr_t begins = 0;  // Where the library is loaded.
  std::string_view file;

  // Takes the lock that the unwinder takes, too: nobody holds it while libraries begin or end.
  static Place Of(uintptr_t address) {
    Place place{.address = address};
    dl_iterate_phdr(
        [](dl_phdr_info* library, size_t, void* self) {
          Place& of = *static_cast<Place*>(self);
          for (int i = 0; i < library->dlpi_phnum; ++i) {
            const ElfW(Phdr)& part = library->dlpi_phdr[i];
            const uintptr_t begin = library->dlpi_addr + part.p_vaddr;
            if (part.p_type != PT_LOAD || of.address < begin || of.address - begin >= part.p_memsz)
              continue;
            of.found = true;
            of.begins = library->dlpi_addr;
            of.file = FileOf(library->dlpi_name == nullptr ? "" : library->dlpi_name);
            return 1;
          }
          return 0;
        },
        &place);
    return place;
  }
};

// A thread's frames, from the inside, up to the first that is neither ours nor CUDA's.
struct Caller {
  const uintptr_t own;  // Where this library begins.
  int frames = 0;
  bool torch = false;

  static _Unwind_Reason_Code Look(_Unwind_Context* frame, void* self) {
    Caller& caller = *static_cast<Caller*>(self);
    if (++caller.frames > kMostFrames) return _URC_END_OF_STACK;
    // A return address may lie behind its function.
    const Place place = Place::Of(_Unwind_GetIP(frame) - 1);
    if (!place.found) return _URC_END_OF_STACK;
    if (place.begins == caller.own || IsRuntime(place.file) ||
        place.file.starts_with("libcuda.so")) {
      return _URC_NO_REASON;
    }
    caller.torch = place.file == kTorchCuda;
    return _URC_END_OF_STACK;
  }
};

}  // namespace

void FindWrappers() {
  for (const char* const name : {"cudaMalloc", "cudaFree"}) {
    void* const function = dlsym(RTLD_DEFAULT, name);
    Dl_info info{};
    if (function == nullptr || dladdr(function, &info) == 0 || info.dli_fname == nullptr) continue;
    if (!IsRuntime(FileOf(info.dli_fname))) wrapped.store(true, std::memory_order_relaxed);
  }
  dlerror();
}

bool CalledByTorch() {
  if (!HearsTorch() || wrapped.load(std::memory_order_relaxed)) return false;
  Caller caller{.own = Place::Of(reinterpret_cast<uintptr_t>(&CalledByTorch)).begins};
  _Unwind_Backtrace(&Caller::Look, &caller);
  return caller.torch;
}

}  // namespace vramspan::preload
