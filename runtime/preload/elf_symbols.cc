#include "runtime/preload/elf_symbols.h"

#include <elf.h>
#include <link.h>

#include <cstdint>

#include "runtime/preload/behind_stub.h"

// Made by the linker: where the loaded library begins and ends.
extern "C" {
extern const char vramspan_own_start[] __asm__("__ehdr_start")
    __attribute__((visibility("hidden")));
extern const char vramspan_own_end[] __asm__("_end") __attribute__((visibility("hidden")));
}

namespace vramspan::preload {
namespace {

// What of a library can be read. Its tables say where they lie, and a library that was damaged, or
// that an odd linker made, says it wrongly: whatever lies elsewhere is as if it were not there.
class Mapped {
 public:
  explicit Mapped(const dl_phdr_info& library) : library_(library) {}

  // How many bytes lie from there to the end of the segment.
  size_t After(ElfW(Addr) at) const {
    for (int i = 0; i < library_.dlpi_phnum; ++i) {
      const ElfW(Phdr)& header = library_.dlpi_phdr[i];
      if (header.p_type != PT_LOAD || (header.p_flags & PF_R) == 0) continue;
      const ElfW(Addr) begin = library_.dlpi_addr + header.p_vaddr;
      if (at >= begin && at - begin < header.p_memsz) return header.p_memsz - (at - begin);
    }
    return 0;
  }
  // Null where it cannot be read.
  template <typename T>
  const T* At(ElfW(Addr) at) const {
    if (at % alignof(T) != 0 || After(at) < sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(at);
  }
  // Not strcmp: a sanitizer that wraps it is only about to look for the real one.
  bool Says(ElfW(Addr) at, const char* text) const {
    const size_t most = After(at);
    const char* const here = reinterpret_cast<const char*>(at);
    for (size_t i = 0; i < most; ++i) {
      if (here[i] != text[i]) return false;
      if (text[i] == '\0') return true;
    }
    return false;
  }

 private:
  const dl_phdr_info& library_;
};

// Where the tables are that a look-up needs; 0 where there is none.
struct Tables {
  ElfW(Addr) symbols = 0;
  ElfW(Addr) strings = 0;
  ElfW(Addr) gnu_hash = 0;
  ElfW(Addr) versions = 0;
  ElfW(Addr) definitions = 0;
  size_t definition_count = 0;
};

Tables ReadTables(const dl_phdr_info& library, const Mapped& mapped) {
  Tables t;
  const ElfW(Addr) base = library.dlpi_addr;
  // The loader rewrites these entries into addresses for most libraries; the kernel's own (vdso)
  // keeps offsets.
  const auto address = [base](ElfW(Addr) value) { return value < base ? base + value : value; };
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = library.dlpi_phdr[i];
    if (header.p_type != PT_DYNAMIC) continue;
    for (size_t at = 0; at + sizeof(ElfW(Dyn)) <= header.p_memsz; at += sizeof(ElfW(Dyn))) {
      const auto* const entry = mapped.At<ElfW(Dyn)>(base + header.p_vaddr + at);
      if (entry == nullptr || entry->d_tag == DT_NULL) break;
      const ElfW(Addr) value = entry->d_un.d_ptr;
      switch (entry->d_tag) {
        case DT_SYMTAB:
          t.symbols = address(value);
          break;
        case DT_STRTAB:
          t.strings = address(value);
          break;
        case DT_GNU_HASH:
          t.gnu_hash = address(value);
          break;
        case DT_VERSYM:
          t.versions = address(value);
          break;
        case DT_VERDEF:
          t.definitions = address(value);
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

uint32_t GnuHash(const char* name) {
  uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

bool HasVersion(const Mapped& mapped, const Tables& t, uint64_t symbol, const char* version) {
  if (version == nullptr || t.versions == 0 || t.definitions == 0) return true;
  const auto* const own = mapped.At<ElfW(Versym)>(t.versions + symbol * sizeof(ElfW(Versym)));
  if (own == nullptr) return false;
  const unsigned wanted = *own & 0x7fff;
  ElfW(Addr) at = t.definitions;
  for (size_t i = 0; i < t.definition_count; ++i) {
    const auto* const d = mapped.At<ElfW(Verdef)>(at);
    if (d == nullptr) return false;
    if (d->vd_ndx == wanted) {
      const auto* const name = mapped.At<ElfW(Verdaux)>(at + d->vd_aux);
      return name != nullptr && mapped.Says(t.strings + name->vda_name, version);
    }
    if (d->vd_next == 0) return false;  // The last one, whatever the count says.
    at += d->vd_next;
  }
  return false;
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
    search->passed_own = Contains(*library, Foremost(reinterpret_cast<const void*>(&LookForNext)));
    return 0;
  }
  if (search->beside != nullptr && FindExport(*library, search->beside, nullptr) == nullptr)
    return 0;
  search->found = FindExport(*library, search->name, search->version);
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

// The layout of DT_GNU_HASH: bucket count, first hashed symbol, words of the filter, its shift; the
// filter; the buckets; the chains, each ended by an odd hash.
void* FindExport(const dl_phdr_info& library, const char* name, const char* version) {
  const Mapped mapped(library);
  const Tables t = ReadTables(library, mapped);
  struct HashHeader {
    uint32_t buckets, first, filter_words, filter_shift;
  };
  const auto* const header = mapped.At<HashHeader>(t.gnu_hash);
  if (t.symbols == 0 || t.strings == 0 || header == nullptr || header->buckets == 0) return nullptr;
  const ElfW(Addr) buckets =
      t.gnu_hash + sizeof(HashHeader) + uint64_t{header->filter_words} * sizeof(ElfW(Addr));
  const ElfW(Addr) chains = buckets + uint64_t{header->buckets} * sizeof(uint32_t);
  const uint32_t hash = GnuHash(name);
  const auto* const bucket =
      mapped.At<uint32_t>(buckets + uint64_t{hash % header->buckets} * sizeof(uint32_t));
  if (bucket == nullptr || *bucket < header->first) return nullptr;
  for (uint64_t symbol = *bucket;; ++symbol) {
    const auto* const other =
        mapped.At<uint32_t>(chains + (symbol - header->first) * sizeof(uint32_t));
    const auto* const s = mapped.At<ElfW(Sym)>(t.symbols + symbol * sizeof(ElfW(Sym)));
    if (other == nullptr || s == nullptr) return nullptr;
    if ((*other | 1) == (hash | 1) && s->st_shndx != SHN_UNDEF &&
        mapped.Says(t.strings + s->st_name, name) && HasVersion(mapped, t, symbol, version)) {
      return reinterpret_cast<void*>(library.dlpi_addr + s->st_value);
    }
    if ((*other & 1) != 0) return nullptr;
  }
}

void* NextExport(const char* name, const char* version, const char* beside) {
  NextSearch search{name, version, beside};
  ForEachLibrary(&LookForNext, &search);
  return search.found;
}

bool IsOwnCode(const void* address) {
  const auto* at = static_cast<const char*>(address);
  return (at >= vramspan_own_start && at < vramspan_own_end) || InStub(address);
}

}  // namespace vramspan::preload
