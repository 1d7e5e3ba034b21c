#include "tools/simcuda/injection.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace simcuda {
namespace {

void Inject() {
  const char* const path = getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || *path == '\0') return;
  void* const library = dlopen(path, RTLD_NOW);
  const auto initialize = library == nullptr
                              ? nullptr
                              : reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (initialize == nullptr) {
    fprintf(stderr, "simcuda: the library of CUDA_INJECTION64_PATH was not injected: %s\n",
            dlerror());
    return;
  }
  if (initialize() == 0) {
    fprintf(stderr, "simcuda: InitializeInjection() of %s says that it failed\n", path);
  }
}

}  // namespace

void InjectOnce() {
  // Recursive, for a cuInit by the injected library itself.
  static std::recursive_mutex* const mutex = new std::recursive_mutex();
  static std::atomic<bool> finished{false};
  static bool begun = false;
  if (finished.load(std::memory_order_acquire)) return;
  const std::lock_guard<std::recursive_mutex> lock(*mutex);
  if (begun) return;
  begun = true;
  Inject();
  finished.store(true, std::memory_order_release);
}

}  // namespace simcuda
