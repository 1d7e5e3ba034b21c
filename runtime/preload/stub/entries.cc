#include "runtime/preload/stub/entries.h"

#include <dlfcn.h>

#include <atomic>

#include "runtime/preload/stub/loader.h"
#include "runtime/preload/stub/real.h"

extern "C" {
// entry_points.cc
extern const char vramspan_stub_first_entry[] __attribute__((visibility("hidden")));
extern const char vramspan_stub_last_entry[] __attribute__((visibility("hidden")));
}

namespace vramspan::stub {
namespace {

enum Entry : size_t {
#define VS_HOOK(base, version, symbol, hook) kEntry_##symbol,
#include "runtime/preload/hooks.inc"
#undef VS_HOOK
  kNvmlInfo,
  kNvmlInfoV2,
  kCuptiSubscribe,
  kCuptiSubscribeV2,
  kCuptiFinalize,
  kEntries
};

bool IsOfNvml(size_t entry) { return entry == kNvmlInfo || entry == kNvmlInfoV2; }
bool IsOfCupti(size_t entry) { return entry >= kCuptiSubscribe; }

// One after the other: a table of pointers would be written anew in each process.
constexpr char kNames[] =
#define VS_HOOK(base, version, symbol, hook) #symbol "\0"
#include "runtime/preload/hooks.inc"
#undef VS_HOOK
    "nvmlDeviceGetMemoryInfo\0"
    "nvmlDeviceGetMemoryInfo_v2\0"
    "cuptiSubscribe\0"
    "cuptiSubscribe_v2\0"
    "cuptiFinalize\0";

const char* NameOf(size_t entry) {
  const char* name = kNames;
  for (; entry > 0; --entry) {
    while (*name != '\0') ++name;
    ++name;
  }
  return name;
}

// What CUDA, NVML and CUPTI say where a function is not to be had.
int NoCuda() { return 500; }  // CUDA_ERROR_NOT_FOUND, as the preload has it.
int NoNvml() { return 12; }   // NVML_ERROR_LIBRARY_NOT_FOUND.
int NoCupti() { return 15; }  // CUPTI_ERROR_NOT_INITIALIZED.

void* InLoaded(const char* soname, const char* name) {
  void* const library = Loaded(soname);
  return library != nullptr ? TheLoader().dlsym(library, name) : nullptr;
}

// As the loader would have bound it without the stub.
void* WithoutReal(const char* name) {
  const Loader& loader = TheLoader();
  if (loader.dlsym == nullptr || loader.dlerror == nullptr) return nullptr;
  void* found = loader.dlsym(RTLD_NEXT, name);
  for (const char* soname :
       {"libcuda.so.1", "libnvidia-ml.so.1", "libcupti.so.13", "libcupti.so.12"}) {
    if (found == nullptr) found = InLoaded(soname, name);
  }
  loader.dlerror();
  return found;
}

void* Absent(size_t entry) {
  const auto function = IsOfCupti(entry) ? &NoCupti : IsOfNvml(entry) ? &NoNvml : &NoCuda;
  return reinterpret_cast<void*>(function);
}

}  // namespace

extern "C" {
__attribute__((visibility("hidden"))) constinit std::atomic<void*> vramspan_stub_slots[kEntries]{};

// Whoever asks for the devices' memory alone does not use CUDA.
__attribute__((visibility("hidden"), used)) void* vramspan_stub_resolve(size_t entry) {
  const char* const name = NameOf(entry);
  void* const real = IsOfNvml(entry) ? RealIfOpen() : Real();
  void* const found = real != nullptr ? TheLoader().dlsym(real, name) : WithoutReal(name);
  if (found == nullptr) return Absent(entry);
  // Programs close NVML and CUPTI, which the preload alone keeps: what is bound to them is asked
  // anew.
  if (real != nullptr || (Settled() && !IsOfNvml(entry) && !IsOfCupti(entry))) {
    vramspan_stub_slots[entry].store(found, std::memory_order_release);
  }
  return found;
}

// Called by the libvramspan that a program is linked with (runtime/api/beside_preload.h).
__attribute__((visibility("default"))) int vramspanPreloadStandAside() {
  if (NeverOpen()) return 0;
  void* const function = TheLoader().dlsym(RealIfOpen(), "vramspanPreloadStandAside");
  return reinterpret_cast<int (*)()>(function)();
}
}

size_t EntryOf(const char* name) {
  const char* at = kNames;
  for (size_t entry = 0; entry < kEntries; ++entry) {
    if (Equal(at, name)) return entry;
    while (*at != '\0') ++at;
    ++at;
  }
  return kNoEntry;
}

bool IsOwnEntry(const void* function) {
  const auto* const at = static_cast<const char*>(function);
  return at >= vramspan_stub_first_entry && at < vramspan_stub_last_entry;
}

}  // namespace vramspan::stub
