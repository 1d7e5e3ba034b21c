#include "runtime/preload/stub/real.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <atomic>

#include "runtime/preload/behind_stub.h"
#include "runtime/preload/stub/loader.h"
#include "runtime/preload/stub/lookups.h"
#include "runtime/preload/stub/say.h"

extern "C" {
extern const char vramspan_stub_start[] __asm__("__ehdr_start")
    __attribute__((visibility("hidden")));
extern const char vramspan_stub_end[] __asm__("_end") __attribute__((visibility("hidden")));
}

namespace vramspan::stub {
namespace {

constexpr size_t kMostPath = 4096;
constexpr char kName[] = "libvramspan_preload.so";

enum : int { kNotYet, kOpen, kNever };
constinit std::atomic<int> state{kNotYet};
constinit std::atomic<void*> real{nullptr};
constinit vramspanStubPlace place{};

// The call may not be the last thing done: dlsym tells by the return address who asks.
void* Next(const char* name) {
  void* const found = TheLoader().dlsym(RTLD_NEXT, name);
  __asm__ volatile("" ::: "memory");
  return found;
}

bool Privileged() {
  const auto getauxval = TheLoader().getauxval;
  return getauxval == nullptr || getauxval(AT_SECURE) != 0;
}

// Beside the stub. False: the path is too long.
bool PathOfReal(char (&path)[kMostPath]) {
  const char* const own = TheLoader().own_path;
  size_t folder = 0;
  for (size_t i = 0; own[i] != '\0'; ++i) {
    if (own[i] == '/') folder = i + 1;
  }
  if (folder + sizeof(kName) > sizeof(path)) return false;
  for (size_t i = 0; i < folder; ++i) path[i] = own[i];
  for (size_t i = 0; i < sizeof(kName); ++i) path[folder + i] = kName[i];
  return true;
}

// Null, or why not.
const char* Open() {
  const Loader& loader = TheLoader();
  char path[kMostPath];
  if (!PathOfReal(path)) return "its path is too long";
  void* const library = loader.dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = loader.dlerror();
    return why != nullptr ? why : "it cannot be loaded";
  }
  const auto tell =
      reinterpret_cast<vramspanStandBehind>(loader.dlsym(library, "vramspanPreloadStandBehind"));
  // The same by whichever thread.
  place.begin = vramspan_stub_start;
  place.end = vramspan_stub_end;
  place.next = &Next;
  place.size = sizeof(place);
  if (tell == nullptr || tell(&place) != 0) return "it is of another release than the stub";
  GoOnTo(loader.dlsym(library, "dlsym"), loader.dlsym(library, "dlvsym"));
  real.store(library, std::memory_order_release);
  return nullptr;
}

}  // namespace

void* Loaded(const char* soname) {
  const Loader& loader = TheLoader();
  if (loader.dlopen == nullptr) return nullptr;
  void* const library = loader.dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
  if (library != nullptr) loader.dlclose(library);  // Whoever loaded it keeps it.
  loader.dlerror();
  return library;
}

void* RealIfOpen() { return real.load(std::memory_order_acquire); }

bool Settled() { return state.load(std::memory_order_acquire) != kNotYet; }

bool NeverOpen() {
  int not_yet = kNotYet;
  return state.compare_exchange_strong(not_yet, kNever) || not_yet == kNever;
}

void* Real() {
  if (Settled()) return RealIfOpen();
  const Loader& loader = TheLoader();
  if (loader.own_path == nullptr || loader.dlsym == nullptr || loader.dlopen == nullptr ||
      loader.dlerror == nullptr || loader.dlclose == nullptr) {
    return nullptr;
  }
  int errno_before = 0;
  if (loader.errno_location != nullptr) errno_before = *loader.errno_location();
  if (Privileged()) {
    NeverOpen();
  } else if (Loaded("libcuda.so.1") != nullptr || Loaded("libcupti.so.13") != nullptr ||
             Loaded("libcupti.so.12") != nullptr) {
    const char* const why = Open();
    int not_yet = kNotYet;
    const bool first = state.compare_exchange_strong(not_yet, why == nullptr ? kOpen : kNever);
    if (first && why != nullptr) SayAsWithout(why);
    loader.dlerror();
  }
  if (loader.errno_location != nullptr) *loader.errno_location() = errno_before;
  return RealIfOpen();
}

}  // namespace vramspan::stub
