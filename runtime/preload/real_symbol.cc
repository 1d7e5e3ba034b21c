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
  dlclose(loaded);  // Whoever loaded it keeps it.
  return real != nullptr && !IsOwnCode(real) ? real : nullptr;
}

}  // namespace

void* RealSymbol(const void* caller, const char* name, absl::Span<const char* const> sonames) {
  if (void* const real = LoaderSymbol(RTLD_NEXT, name); real != nullptr) return real;
  Dl_info info{};
  if (dladdr(caller, &info) != 0 && info.dli_fname != nullptr) {
    if (void* const real = FindIn(info.dli_fname, name); real != nullptr) return real;
  }
  for (const char* const soname : sonames) {
    if (void* const real = FindIn(soname, name); real != nullptr) return real;
  }
  return nullptr;
}

}  // namespace vramspan::preload
