// Another preload: counts allocations and launches, and says at the end how many there were. With
// OTHER_HOOKS_DLSYM it stands in dlsym's place as well.
#include <cuda.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#undef cuMemAlloc
#undef cuLaunchKernel

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

std::atomic<int> allocations{0}, launches{0};

__attribute__((destructor)) void Say() {
  std::fprintf(stderr, "other: %d allocations\nother: %d launches\n", allocations.load(),
               launches.load());
}

using Dlsym = void* (*)(void*, const char*);

Dlsym NextDlsym() {
#ifdef OTHER_HOOKS_DLSYM
  static const Dlsym next = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  return next;
#else
  return &dlsym;
#endif
}

template <typename Function>
Function Next(const char* name) {
  void* next = NextDlsym()(RTLD_NEXT, name);
  // The driver may have been opened where only its user sees it.
  if (next == nullptr) next = NextDlsym()(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), name);
  return reinterpret_cast<Function>(next);
}

}  // namespace

EXPORTED CUresult cuMemAlloc_v2(CUdeviceptr* p, size_t size) {
  static const auto next = Next<decltype(&cuMemAlloc_v2)>("cuMemAlloc_v2");
  ++allocations;
  return next(p, size);
}

EXPORTED CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                 unsigned by, unsigned bz, unsigned shared, CUstream stream,
                                 void** params, void** extra) {
  static const auto next = Next<decltype(&cuLaunchKernel)>("cuLaunchKernel");
  ++launches;
  return next(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}

#ifdef OTHER_HOOKS_DLSYM
EXPORTED void* dlsym(void* handle, const char* name) noexcept {
  void* const found = NextDlsym()(handle, name);
  if (found == nullptr || handle == RTLD_NEXT || handle == RTLD_DEFAULT) return found;
  if (std::strcmp(name, "cuMemAlloc_v2") == 0) return reinterpret_cast<void*>(&cuMemAlloc_v2);
  if (std::strcmp(name, "cuLaunchKernel") == 0) return reinterpret_cast<void*>(&cuLaunchKernel);
  return found;
}
#endif
