#include "runtime/preload/real_symbol.h"

#include <dlfcn.h>

#include "runtime/preload/elf_symbols.h"
#include "runtime/preload/resolver.h"

namespace vramspan::preload {
namespace {

// In a library that is loaded, and those that it was linked to; but not our own, which is what the
// program itself finds.
void* FindIn(const char* library, const char* name) {
  void* const loaded = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (loaded == nullptr) return nullptr;
  void* const real = LoaderSymbol(loaded, name);
  dlclose(loaded);
  return real != nullptr && !IsOwnCode(real) ? real : nullptr;
}

void* Find(const void* caller, const char* name, absl::Span<const char* const> sonames) {
  if (void* const real = LoaderSymbol(RTLD_NEXT, name); real != nullptr) return real;
  Dl_info info{};
  if (caller != nullptr && dladdr(caller, &info) != 0 && info.dli_fname != nullptr) {
    if (void* const real = FindIn(info.dli_fname, name); real != nullptr) return real;
  }
  for (const char* const soname : sonames) {
    if (void* const real = FindIn(soname, name); real != nullptr) return real;
  }
  return nullptr;
}

}  // namespace

void* RealSymbol(const void* caller, const char* name, absl::Span<const char* const> sonames) {
  void* const real = Find(caller, name, sonames);
  Dl_info info{};
  if (real == nullptr || dladdr(real, &info) == 0 || info.dli_fname == nullptr) return real;
  // From here on it is called whoever closes that library.
  void* const kept = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  if (kept != nullptr) dlclose(kept);
  return real;
}

}  // namespace vramspan::preload
