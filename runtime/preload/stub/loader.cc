#include "runtime/preload/stub/loader.h"

#include <elf.h>
#include <stdint.h>

extern "C" {
extern ElfW(Dyn) vramspan_own_dynamic[] __asm__("_DYNAMIC") __attribute__((visibility("hidden")));
// The loader's. No other C library than glibc has it.
extern r_debug vramspan_r_debug __asm__("_r_debug") __attribute__((weak));
}

namespace vramspan::stub {
namespace {

constinit Loader loader{};

uint32_t GnuHash(const char* name) {
  uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

// The tables are believed: the loader itself has read them to bind the program. Layout of
// DT_GNU_HASH: bucket count, first hashed symbol, words of the filter, its shift; the filter; the
// buckets; the chains, each ended by an odd hash.
void* DefinitionIn(const link_map& library, const char* name) {
  const ElfW(Addr) base = library.l_addr;
  // The kernel's own library keeps offsets, where the loader has made addresses of others'.
  const auto address = [base](ElfW(Addr) value) { return value < base ? base + value : value; };
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* hashes = nullptr;
  for (const ElfW(Dyn)* entry = library.l_ld; entry != nullptr && entry->d_tag != DT_NULL;
       ++entry) {
    const ElfW(Addr) at = address(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(at);
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(at);
    if (entry->d_tag == DT_GNU_HASH) hashes = reinterpret_cast<const uint32_t*>(at);
  }
  if (symbols == nullptr || strings == nullptr || hashes == nullptr || hashes[0] == 0) {
    return nullptr;
  }
  const uint32_t* const buckets = hashes + 4 + hashes[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* const chains = buckets + hashes[0];
  const uint32_t hash = GnuHash(name);
  uint32_t at = buckets[hash % hashes[0]];
  if (at < hashes[1]) return nullptr;
  for (;; ++at) {
    const uint32_t other = chains[at - hashes[1]];
    const ElfW(Sym)& symbol = symbols[at];
    if ((other | 1) == (hash | 1) && symbol.st_shndx != SHN_UNDEF &&
        ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && Equal(strings + symbol.st_name, name)) {
      return reinterpret_cast<void*>(base + symbol.st_value);
    }
    if ((other & 1) != 0) return nullptr;
  }
}

const link_map* First() { return &vramspan_r_debug != nullptr ? vramspan_r_debug.r_map : nullptr; }

const link_map* Own() {
  const link_map* at = First();
  while (at != nullptr && at->l_ld != vramspan_own_dynamic) at = at->l_next;
  return at;
}

// In the library that has `beside`.
void* DefinitionBeside(const char* name, const char* beside) {
  for (const link_map* at = First(); at != nullptr; at = at->l_next) {
    if (DefinitionIn(*at, beside) != nullptr) return DefinitionIn(*at, name);
  }
  return nullptr;
}

template <typename Function>
void Look(Function* function, const char* name) {
  if (*function == nullptr) *function = reinterpret_cast<Function>(NextDefinition(name));
}

}  // namespace

bool Equal(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

bool StartsWith(const char* text, const char* start) {
  while (*start != '\0' && *text == *start) ++text, ++start;
  return *start == '\0';
}

void* NextDefinition(const char* name) {
  const link_map* at = Own();
  if (at == nullptr) return nullptr;
  for (at = at->l_next; at != nullptr; at = at->l_next) {
    if (void* const found = DefinitionIn(*at, name)) return found;
  }
  return nullptr;
}

bool SomebodyDefines(const char* name) {
  for (const link_map* at = First(); at != nullptr; at = at->l_next) {
    if (at->l_ld != vramspan_own_dynamic && DefinitionIn(*at, name) != nullptr) return true;
  }
  return false;
}

// Threads that look at the same time find, and store, the same.
const Loader& TheLoader() {
  // The last of them is there only where all are: before glibc 2.34 the first are in a library of
  // their own, which a program without CUDA need not have.
  if (loader.own_path != nullptr && loader.dlsym != nullptr && loader.dlopen != nullptr) {
    return loader;
  }
  if (loader.dlsym == nullptr) {
    void* own = DefinitionBeside("dlsym", "gnu_get_libc_version");
    if (own == nullptr) own = NextDefinition("dlsym");
    loader.dlsym = reinterpret_cast<decltype(loader.dlsym)>(own);
  }
  Look(&loader.dlopen, "dlopen");
  Look(&loader.dlclose, "dlclose");
  Look(&loader.dlerror, "dlerror");
  Look(&loader.dl_iterate_phdr, "dl_iterate_phdr");
  Look(&loader.getauxval, "getauxval");
  Look(&loader.getenv, "getenv");
  Look(&loader.errno_location, "__errno_location");
  Look(&loader.write, "write");
  Look(&loader.sigprocmask, "sigprocmask");
  Look(&loader.sigtimedwait, "sigtimedwait");
  const link_map* const own = Own();
  loader.own_path = own == nullptr ? nullptr : own->l_name;
  return loader;
}

}  // namespace vramspan::stub
