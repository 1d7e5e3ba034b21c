// ValidateImage: everything the dynamic linker will follow in an image stays inside it.

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "tools/simcuda/kernel_abi.h"
#include "tools/simcuda/modules/elf_image.h"
#include "tools/simcuda/modules/machine.h"

namespace simcuda {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMaxTlsBytes = 1 << 16;

bool IsPowerOfTwo(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

class Validator {
 public:
  Validator(const char* bytes, size_t size) : bytes_(bytes), size_(size) {}

  bool Valid() { return ReadHeaders() && CheckLoads() && CheckOthers() && CheckDynamic(); }

 private:
  template <typename T>
  bool ReadAt(uint64_t offset, T* value) const {
    if (offset > size_ || size_ - offset < sizeof(T)) return false;
    memcpy(value, bytes_ + offset, sizeof(T));
    return true;
  }

  bool ReadHeaders() {
    Elf64_Ehdr header;
    if (!ReadAt(0, &header)) return false;
    if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 || header.e_phnum > 64) {
      return false;
    }
    headers_end_ = header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr);
    if (header.e_phoff > size_ || header.e_phoff % 8 != 0 || headers_end_ > size_) return false;
    headers_.resize(header.e_phnum);
    memcpy(headers_.data(), bytes_ + header.e_phoff, headers_.size() * sizeof(Elf64_Phdr));
    return true;
  }

  bool CheckLoads() {
    uint64_t end = 0;
    for (const Elf64_Phdr& load : headers_) {
      if (load.p_type != PT_LOAD) continue;
      if (load.p_offset > size_ || load.p_filesz > size_ - load.p_offset) return false;
      if (load.p_filesz > load.p_memsz || load.p_memsz > kMaxImageBytes) return false;
      if (load.p_vaddr > kMaxImageBytes || load.p_vaddr < end) return false;
      if (!IsPowerOfTwo(load.p_align) || load.p_align < kPage || load.p_align > kMaxImageBytes ||
          load.p_vaddr % load.p_align != load.p_offset % load.p_align) {
        return false;
      }
      const uint32_t access = load.p_flags & (PF_R | PF_W | PF_X);
      if (access != PF_R && access != (PF_R | PF_W) && access != (PF_R | PF_X)) return false;
      // As GNU ld lays images out: what is not written lies in memory as it lies in the file.
      if ((access & PF_W) == 0 &&
          (load.p_offset != load.p_vaddr || load.p_filesz != load.p_memsz)) {
        return false;
      }
      if (loads_.empty() && (load.p_offset != 0 || load.p_filesz < headers_end_)) return false;
      // Segments share no page: the next one starts behind the last page of this one.
      end = (load.p_vaddr + load.p_memsz + kPage - 1) / kPage * kPage;
      loads_.push_back(load);
    }
    return !loads_.empty();
  }

  // The bytes of the file behind [address, address + length), null where any is missing.
  const char* At(uint64_t address, uint64_t length, uint32_t flags = 0) const {
    for (const Elf64_Phdr& load : loads_) {
      if (address < load.p_vaddr || address - load.p_vaddr > load.p_filesz) continue;
      if (length > load.p_filesz - (address - load.p_vaddr)) continue;
      if ((load.p_flags & flags) != flags) continue;
      return bytes_ + load.p_offset + (address - load.p_vaddr);
    }
    return nullptr;
  }

  bool InMemory(uint64_t address, uint64_t length, uint32_t flags) const {
    for (const Elf64_Phdr& load : loads_) {
      if (address >= load.p_vaddr && address - load.p_vaddr <= load.p_memsz &&
          length <= load.p_memsz - (address - load.p_vaddr) && (load.p_flags & flags) == flags) {
        return true;
      }
    }
    return false;
  }

  bool CheckOthers() {
    bool marked = false;
    bool plain_stack = false;  // without the header, loading would make the stack executable
    for (const Elf64_Phdr& header : headers_) {
      switch (header.p_type) {
        case PT_INTERP:
          return false;
        case PT_GNU_STACK:
          if ((header.p_flags & PF_X) != 0) return false;
          plain_stack = true;
          break;
        case PT_DYNAMIC:
          if (dynamic_.p_type == PT_DYNAMIC) return false;
          dynamic_ = header;
          break;
        case PT_TLS:
          if (header.p_filesz > header.p_memsz || header.p_memsz > kMaxTlsBytes ||
              header.p_align > kPage || (header.p_align > 1 && !IsPowerOfTwo(header.p_align)) ||
              !At(header.p_vaddr, header.p_filesz)) {
            return false;
          }
          break;
        case PT_NOTE:
          if (header.p_offset > size_ || header.p_filesz > size_ - header.p_offset) return false;
          marked = marked || HasMark(bytes_ + header.p_offset, header.p_filesz);
          break;
        case PT_PHDR:
          if (header.p_offset >= headers_end_ || header.p_vaddr != header.p_offset) return false;
          break;
        case PT_LOAD:
        case PT_GNU_EH_FRAME:
        case PT_GNU_PROPERTY:
        case PT_GNU_RELRO:  // taken out before loading
          break;
        default:
          return false;
      }
    }
    return marked && plain_stack && dynamic_.p_type == PT_DYNAMIC;
  }

  static bool HasMark(const char* notes, uint64_t size) {
    Elf64_Nhdr note;
    while (size >= sizeof(note)) {
      memcpy(&note, notes, sizeof(note));
      const uint64_t name = (uint64_t{note.n_namesz} + 3) / 4 * 4;
      const uint64_t description = (uint64_t{note.n_descsz} + 3) / 4 * 4;
      if (name + description > size - sizeof(note)) return false;
      if (note.n_namesz == sizeof(abi::kNoteOwner) && note.n_type == abi::kAbiVersion &&
          memcmp(notes + sizeof(note), abi::kNoteOwner, sizeof(abi::kNoteOwner)) == 0) {
        return true;
      }
      notes += sizeof(note) + name + description;
      size -= sizeof(note) + name + description;
    }
    return false;
  }

  bool CheckDynamic() {
    const char* entries = At(dynamic_.p_vaddr, dynamic_.p_filesz, PF_W);
    if (entries == nullptr || dynamic_.p_vaddr % 8 != 0) return false;
    // A tag that is given twice is followed once by us and once, perhaps, by the dynamic linker.
    uint64_t values[DT_NUM] = {};
    bool given[DT_NUM] = {};
    uint64_t gnu_hash = 0;
    uint64_t verneed = 0;
    uint64_t versym = 0;
    std::vector<uint64_t> needed;
    bool ended = false;
    for (uint64_t at = 0; !ended && at + sizeof(Elf64_Dyn) <= dynamic_.p_filesz;
         at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry;
      memcpy(&entry, entries + at, sizeof(entry));
      const uint64_t value = entry.d_un.d_val;
      switch (entry.d_tag) {
        case DT_NULL:
          ended = true;
          break;
        case DT_NEEDED:
          needed.push_back(value);
          break;
        case DT_GNU_HASH:
          if (gnu_hash != 0) return false;
          gnu_hash = value;
          break;
        case DT_VERNEED:
          verneed = value;
          break;
        case DT_VERSYM:
          versym = value;
          break;
        case DT_VERNEEDNUM:
        case DT_RELACOUNT:
        case DT_FLAGS_1:
          break;
        default:
          // Tags that no linker here writes for an image could lead anywhere: DT_RELR, DT_AUDIT,
          // ...
          if (entry.d_tag < 0 || entry.d_tag >= DT_NUM || given[entry.d_tag]) return false;
          given[entry.d_tag] = true;
          values[entry.d_tag] = value;
          break;
      }
    }
    if (!ended || given[DT_TEXTREL] || given[DT_REL] || given[DT_RPATH] || given[DT_RUNPATH] ||
        given[DT_PREINIT_ARRAY] || given[DT_RELR]) {
      return false;
    }
    return CheckStrings(values, needed) && CheckHash(gnu_hash, versym, values) &&
           CheckVersions(verneed) &&
           CheckRelocations(values[DT_RELA], values[DT_RELASZ], values[DT_RELAENT]) &&
           (!given[DT_JMPREL] ||
            (values[DT_PLTREL] == DT_RELA &&
             CheckRelocations(values[DT_JMPREL], values[DT_PLTRELSZ], sizeof(Elf64_Rela)))) &&
           CheckFunctions(values, values[DT_INIT_ARRAY], values[DT_INIT_ARRAYSZ]) &&
           CheckFunctions(values, values[DT_FINI_ARRAY], values[DT_FINI_ARRAYSZ]) &&
           (!given[DT_INIT] || InMemory(values[DT_INIT], 1, PF_X)) &&
           (!given[DT_FINI] || InMemory(values[DT_FINI], 1, PF_X));
  }

  bool CheckStrings(const uint64_t* values, const std::vector<uint64_t>& needed) {
    string_bytes_ = values[DT_STRSZ];
    if (string_bytes_ == 0) return false;
    const char* strings = At(values[DT_STRTAB], string_bytes_);
    if (strings == nullptr || strings[string_bytes_ - 1] != '\0') return false;
    for (uint64_t offset : needed) {
      if (offset >= string_bytes_) return false;
    }
    return values[DT_SONAME] < string_bytes_;
  }

  // The symbol table has no length of its own: the hash table says how many symbols there are.
  bool CheckHash(uint64_t gnu_hash, uint64_t versym, const uint64_t* values) {
    const char* table = At(gnu_hash, 16);
    if (table == nullptr || gnu_hash % 8 != 0 || values[DT_SYMENT] != sizeof(Elf64_Sym)) {
      return false;
    }
    uint32_t header[4];  // buckets, first symbol, bloom words, bloom shift
    memcpy(header, table, sizeof(header));
    const auto [buckets, first, bloom, shift] = header;
    if (buckets == 0 || !IsPowerOfTwo(bloom) || shift >= 64) return false;
    const uint64_t buckets_at = gnu_hash + 16 + uint64_t{bloom} * 8;
    const uint64_t chains_at = buckets_at + uint64_t{buckets} * 4;
    const char* bucket = At(buckets_at, uint64_t{buckets} * 4);
    if (bucket == nullptr || At(gnu_hash, chains_at - gnu_hash) == nullptr) return false;
    symbols_ = first;
    for (uint32_t i = 0; i < buckets; ++i, bucket += 4) {
      uint32_t symbol;
      memcpy(&symbol, bucket, sizeof(symbol));
      if (symbol == 0) continue;
      if (symbol < first) return false;
      for (uint32_t link = 0; (link & 1) == 0; ++symbol) {
        const char* chain = At(chains_at + uint64_t{symbol - first} * 4, 4);
        if (chain == nullptr) return false;
        memcpy(&link, chain, sizeof(link));
      }
      symbols_ = symbol > symbols_ ? symbol : symbols_;
    }
    const char* symbols = At(values[DT_SYMTAB], symbols_ * sizeof(Elf64_Sym));
    if (symbols == nullptr || values[DT_SYMTAB] % 8 != 0) return false;
    if (versym != 0 && At(versym, symbols_ * 2) == nullptr) return false;
    for (uint64_t i = 0; i < symbols_; ++i) {
      Elf64_Sym symbol;
      memcpy(&symbol, symbols + i * sizeof(symbol), sizeof(symbol));
      if (symbol.st_name >= string_bytes_) return false;
      if (ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC) return false;
      if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS &&
          ELF64_ST_TYPE(symbol.st_info) != STT_TLS && !InMemory(symbol.st_value, 0, 0)) {
        return false;
      }
    }
    return true;
  }

  bool CheckVersions(uint64_t verneed) const {
    // Every step goes forward inside the file, so the walks end.
    for (bool more = verneed != 0; more;) {
      Elf64_Verneed need;
      const char* at = At(verneed, sizeof(need));
      if (at == nullptr) return false;
      memcpy(&need, at, sizeof(need));
      if (need.vn_file >= string_bytes_) return false;
      uint64_t aux_at = verneed + need.vn_aux;
      for (bool more_aux = true; more_aux;) {
        Elf64_Vernaux aux;
        at = At(aux_at, sizeof(aux));
        if (at == nullptr) return false;
        memcpy(&aux, at, sizeof(aux));
        if (aux.vna_name >= string_bytes_) return false;
        more_aux = aux.vna_next != 0;
        aux_at += aux.vna_next;
      }
      more = need.vn_next != 0;
      verneed += need.vn_next;
    }
    return true;
  }

  bool CheckRelocations(uint64_t address, uint64_t bytes, uint64_t entry_bytes) const {
    if (bytes == 0) return true;
    const char* table = At(address, bytes);
    if (table == nullptr || entry_bytes != sizeof(Elf64_Rela) || bytes % entry_bytes != 0) {
      return false;
    }
    for (uint64_t at = 0; at < bytes; at += entry_bytes) {
      Elf64_Rela rela;
      memcpy(&rela, table + at, sizeof(rela));
      // Where the linker had made room for more.
      if (ELF64_R_TYPE(rela.r_info) == kNothing) continue;
      if (!InMemory(rela.r_offset, 8, PF_W)) return false;
      if (ELF64_R_SYM(rela.r_info) >= symbols_ && ELF64_R_SYM(rela.r_info) != 0) return false;
      switch (ELF64_R_TYPE(rela.r_info)) {
        case kRelative:
          if (!InMemory(static_cast<uint64_t>(rela.r_addend), 0, 0)) return false;
          break;
        case kAddress:
        case kDataAddress:
        case kCodeAddress:
        case kTlsModule:
        case kTlsOffset:
        case kTlsThread:
          break;
        case kTlsDescriptor:
          if (!InMemory(rela.r_offset, 16, PF_W)) return false;
          break;
        default:
          return false;
      }
    }
    return true;
  }

  // Every pointer of the array must be one that a relocation makes, into code.
  bool CheckFunctions(const uint64_t* values, uint64_t address, uint64_t bytes) const {
    if (bytes == 0) return true;
    if (bytes % 8 != 0 || address % 8 != 0 || !InMemory(address, bytes, PF_W)) return false;
    uint64_t made = 0;
    const char* table = At(values[DT_RELA], values[DT_RELASZ]);
    for (uint64_t at = 0; at < values[DT_RELASZ]; at += sizeof(Elf64_Rela)) {
      Elf64_Rela rela;
      memcpy(&rela, table + at, sizeof(rela));
      if (rela.r_offset < address || rela.r_offset - address >= bytes) continue;
      if (ELF64_R_TYPE(rela.r_info) != kRelative ||
          !InMemory(static_cast<uint64_t>(rela.r_addend), 1, PF_X)) {
        return false;
      }
      ++made;
    }
    return made == bytes / 8;
  }

  const char* const bytes_;
  const size_t size_;
  uint64_t headers_end_ = 0;
  std::vector<Elf64_Phdr> headers_;
  std::vector<Elf64_Phdr> loads_;
  Elf64_Phdr dynamic_ = {};
  uint64_t string_bytes_ = 0;
  uint64_t symbols_ = 0;
};

}  // namespace

CUresult ValidateImage(const char* bytes, size_t size) {
  return Validator(bytes, size).Valid() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

}  // namespace simcuda
