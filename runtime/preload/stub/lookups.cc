#include "runtime/preload/stub/lookups.h"

#include <dlfcn.h>

#include <atomic>

#include "runtime/preload/dl_function.h"
#include "runtime/preload/stub/entries.h"
#include "runtime/preload/stub/loader.h"
#include "runtime/preload/stub/real.h"
#include "runtime/preload/stub/say.h"

using DlsymFunction = void* (*)(void*, const char*);
using DlvsymFunction = void* (*)(void*, const char*, const char*);

extern "C" {
__attribute__((visibility("hidden"))) constinit std::atomic<DlsymFunction> vramspan_next_dlsym{
    nullptr};
__attribute__((visibility("hidden"))) constinit std::atomic<DlvsymFunction> vramspan_next_dlvsym{
    nullptr};
}

namespace vramspan::stub {
namespace {

constinit std::atomic<bool> started{false};

// Before main, or when a constructor before ours asks for something.
void Start() {
  if (vramspan_next_dlsym.load(std::memory_order_acquire) != nullptr) return;
  TheLoader();
  if (SomebodyDefines("vramspanPreloadStandAside")) NeverOpen();
  GoOnTo(NextDefinition("dlsym"), NextDefinition("dlvsym"));
}

__attribute__((constructor)) void Started() {
  Start();
  RememberStderr();
  started.store(true, std::memory_order_release);
}

struct Answer {
  void* value;
  unsigned long decided;
};
constexpr Answer kPass{nullptr, 0};

// What the stub exports is no other library's function. Where one is asked for that nobody has,
// there is none, and dlerror says so.
template <typename Lookup>
Answer NotOurs(void* handle, const char* name, Lookup lookup) {
  if (handle == RTLD_NEXT || EntryOf(name) == kNoEntry) return kPass;
  void* const found = handle == RTLD_DEFAULT ? nullptr : lookup();
  if (handle != RTLD_DEFAULT && !IsOwnEntry(found)) return {found, 1};
  if (TheLoader().dlsym == nullptr) return {nullptr, 1};
  void* const next = TheLoader().dlsym(RTLD_NEXT, name);
  if (next == nullptr) return {nullptr, 1};
  return handle == RTLD_DEFAULT ? kPass : Answer{found, 1};
}

// What a program may ask of the preload (include/vramspan/process.h). Nobody else has it.
Answer OfPreload(void* handle, const char* name) {
  void* const real =
      handle != RTLD_NEXT && !Equal(name, "vramspanPreloadStandAside") ? Real() : nullptr;
  return real != nullptr ? Answer{TheLoader().dlsym(real, name), 1} : kPass;
}

// Before glibc 2.34 a program without libdl has no dlsym but ours: there is nothing to go on to.
template <typename Lookup>
Answer AnswerFor(bool goes_on, void* handle, const char* name, Lookup lookup) {
  if (!goes_on) return {nullptr, 1};
  if (name == nullptr) return kPass;
  if (name[0] == 'v' && StartsWith(name, "vramspanPreload")) return OfPreload(handle, name);
  const bool cuda = name[0] == 'c' && name[1] == 'u';
  const bool driver = cuda && name[2] >= 'A' && name[2] <= 'Z';
  if (driver || (cuda && EntryOf(name) != kNoEntry)) {
    if (Real() != nullptr) return kPass;
  } else if (name[0] != 'n' || name[1] != 'v') {
    return kPass;
  }
  return RealIfOpen() != nullptr ? kPass : NotOurs(handle, name, lookup);
}

}  // namespace

void GoOnTo(void* dlsym, void* dlvsym) {
  vramspan_next_dlvsym.store(reinterpret_cast<DlvsymFunction>(dlvsym), std::memory_order_release);
  vramspan_next_dlsym.store(reinterpret_cast<DlsymFunction>(dlsym), std::memory_order_release);
}

extern "C" __attribute__((visibility("hidden"), used)) Answer vramspan_answer_dlsym(
    void* handle, const char* name) {
  Start();
  const auto next = vramspan_next_dlsym.load(std::memory_order_acquire);
  return AnswerFor(next != nullptr, handle, name,
                   [&] { return vramspan_next_dlsym.load()(handle, name); });
}

extern "C" __attribute__((visibility("hidden"), used)) Answer vramspan_answer_dlvsym(
    void* handle, const char* name, const char* version) {
  Start();
  const auto next = vramspan_next_dlvsym.load(std::memory_order_acquire);
  return AnswerFor(next != nullptr, handle, name,
                   [&] { return vramspan_next_dlvsym.load()(handle, name, version); });
}

namespace {

using Visit = int (*)(dl_phdr_info*, size_t, void*);

struct Visitor {
  Visit visit;
  void* data;
};

int PassOthers(dl_phdr_info* library, size_t size, void* data) {
  const auto* const visitor = static_cast<const Visitor*>(data);
  const char* const own = TheLoader().own_path;
  if (own != nullptr && library->dlpi_name != nullptr && Equal(library->dlpi_name, own)) return 0;
  return visitor->visit(library, size, visitor->data);
}

}  // namespace

// Until it is started the stub is not among the libraries: AddressSanitizer ends a program in which
// another library than its own comes first. That is all the difference that it would make.
extern "C" __attribute__((visibility("default"))) int vramspan_dl_iterate_phdr(Visit visit,
                                                                               void* data) {
  const auto next = TheLoader().dl_iterate_phdr;
  if (next == nullptr) return 0;
  if (started.load(std::memory_order_acquire)) return next(visit, data);
  Visitor visitor{visit, data};
  return next(&PassOthers, &visitor);
}
#if defined(__x86_64__)
__asm__(".symver vramspan_dl_iterate_phdr, dl_iterate_phdr@@GLIBC_2.2.5\n");
#else
__asm__(".symver vramspan_dl_iterate_phdr, dl_iterate_phdr@@GLIBC_2.17\n");
#endif

}  // namespace vramspan::stub

VS_DL_FUNCTION(dlsym);
VS_DL_FUNCTION(dlvsym);
