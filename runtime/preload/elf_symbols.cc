#include "runtime/preload/elf_symbols.h"

#include <elf.h>
#include <link.h>

#include <cstdint>

// Made by the linker: where the loaded library begins and ends.
extern "C" {
extern const char vramspan_own_start[] __asm__("__ehdr_start")
    __attribute__((visibility("hidden")));
extern const char vramspan_own_end[] __asm__("_end") __attribute__((visibility("hidden")));
}

namespace vramspan::preload {
namespace {

// The tables of one library that a look-up needs.
struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* gnu_hash = nullptr;
  const ElfW(Versym) * versions = nullptr;
  const ElfW(Verdef) * definitions = nullptr;
  size_t definition_count = 0;
};

// The loader rewrites these entries into addresses for most libraries; the kernel's own (vdso)
// keeps offsets.
template <typename T>
const T* At(ElfW(Addr) base, ElfW(Addr) value) {
  return reinterpret_cast<const T*>(value < base ? base + value : value);
}

Tables ReadTables(const dl_phdr_info& library) {
  Tables t;
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = library.dlpi_phdr[i];
    if (header.p_type != PT_DYNAMIC) continue;
    const ElfW(Addr) base = library.dlpi_addr;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(base + header.p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      const ElfW(Addr) value = entry->d_un.d_ptr;
      switch (entry->d_tag) {
        case DT_SYMTAB:
          t.symbols = At<ElfW(Sym)>(base, value);
          break;
        case DT_STRTAB:
          t.strings = At<char>(base, value);
          break;
        case DT_GNU_HASH:
          t.gnu_hash = At<uint32_t>(base, value);
          break;
        case DT_VERSYM:
          t.versions = At<ElfW(Versym)>(base, value);
          break;
        case DT_VERDEF:
          t.definitions = At<ElfW(Verdef)>(base, value);
          break;
        case DT_VERDEFNUM:
          t.definition_count = value;
          break;
        default:
          break;
      }
    }
  }
  return t;
}

// Not strcmp: a sanitizer that wraps it is only about to look for the real one.
bool Equal(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

uint32_t GnuHash(const char* name) {
  uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

bool HasVersion(const Tables& t, uint32_t symbol, const char* version) {
  if (version == nullptr || t.versions == nullptr || t.definitions == nullptr) return true;
  const unsigned wanted = t.versions[symbol] & 0x7fff;
  const ElfW(Verdef)* d = t.definitions;
  for (size_t i = 0; i < t.definition_count; ++i) {
    if (d->vd_ndx == wanted) {
      const auto* name =
          reinterpret_cast<const ElfW(Verdaux)*>(reinterpret_cast<const char*>(d) + d->vd_aux);
      return Equal(t.strings + name->vda_name, version);
    }
    d = reinterpret_cast<const ElfW(Verdef)*>(reinterpret_cast<const char*>(d) + d->vd_next);
  }
  return false;
}

// The layout of DT_GNU_HASH: bucket count, first hashed symbol, words of the filter, its shift; the
// filter; the buckets; the chains, each ended by an odd hash.
void* Find(const dl_phdr_info& library, const char* name, const char* version) {
  const Tables t = ReadTables(library);
  if (t.symbols == nullptr || t.strings == nullptr || t.gnu_hash == nullptr) return nullptr;
  const uint32_t buckets = t.gnu_hash[0];
  const uint32_t first = t.gnu_hash[1];
  const uint32_t filter_words = t.gnu_hash[2];
  if (buckets == 0) return nullptr;
  const auto* filter = reinterpret_cast<const ElfW(Addr)*>(t.gnu_hash + 4);
  const auto* bucket = reinterpret_cast<const uint32_t*>(filter + filter_words);
  const uint32_t* chain = bucket + buckets;
  const uint32_t hash = GnuHash(name);
  uint32_t symbol = bucket[hash % buckets];
  if (symbol < first) return nullptr;
  for (;; ++symbol) {
    const uint32_t other = chain[symbol - first];
    const ElfW(Sym)& s = t.symbols[symbol];
    if ((other | 1) == (hash | 1) && s.st_shndx != SHN_UNDEF &&
        Equal(t.strings + s.st_name, name) && HasVersion(t, symbol, version)) {
      return reinterpret_cast<void*>(library.dlpi_addr + s.st_value);
    }
    if ((other & 1) != 0) return nullptr;
  }
}

bool Contains(const dl_phdr_info& library, const void* address) {
  const auto at = reinterpret_cast<ElfW(Addr)>(address);
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = library.dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    const ElfW(Addr) begin = library.dlpi_addr + header.p_vaddr;
    if (at >= begin && at < begin + header.p_memsz) return true;
  }
  return false;
}

struct NextSearch {
  const char* name;
  const char* version;
  const char* beside;
  bool passed_own = false;
  void* found = nullptr;
};

int LookForNext(dl_phdr_info* library, size_t, void* data) {
  auto* search = static_cast<NextSearch*>(data);
  if (!search->passed_own) {
    search->passed_own = Contains(*library, reinterpret_cast<const void*>(&LookForNext));
    return 0;
  }
  if (search->beside != nullptr && Find(*library, search->beside, nullptr) == nullptr) return 0;
  search->found = Find(*library, search->name, search->version);
  return search->found != nullptr ? 1 : 0;
}

#ifdef VRAMSPAN_SANITIZED
// A sanitizer wraps dl_iterate_phdr, and asks for symbols before its wrapper can be called. Nobody
// loads libraries then.
void ForEachLibrary(int (*visit)(dl_phdr_info*, size_t, void*), void* data) {
  for (const link_map* m = _r_debug.r_map; m != nullptr; m = m->l_next) {
    if (m->l_addr == 0) continue;
    const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(m->l_addr);
    dl_phdr_info info{};
    info.dlpi_addr = m->l_addr;
    info.dlpi_phdr = reinterpret_cast<const ElfW(Phdr)*>(m->l_addr + header->e_phoff);
    info.dlpi_phnum = header->e_phnum;
    if (visit(&info, sizeof(info), data) != 0) return;
  }
}
#else
void ForEachLibrary(int (*visit)(dl_phdr_info*, size_t, void*), void* data) {
  dl_iterate_phdr(visit, data);
}
#endif

}  // namespace

void* NextExport(const char* name, const char* version, const char* beside) {
  NextSearch search{name, version, beside};
  ForEachLibrary(&LookForNext, &search);
  return search.found;
}

bool IsOwnCode(const void* address) {
  const auto* at = static_cast<const char*>(address);
  return at >= vramspan_own_start && at < vramspan_own_end;
}

}  // namespace vramspan::preload
