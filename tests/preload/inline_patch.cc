#include "tests/preload/inline_patch.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "tests/preload/program_scenarios.h"

namespace {

// jmp *OFFSET(%rip)
constexpr unsigned char kJump[] = {0xff, 0x25};
constexpr size_t kJumpSize = 6;

void MakeJump(unsigned char* at, const void* to) {
  std::memcpy(at, kJump, sizeof(kJump));
  std::memset(at + sizeof(kJump), 0, kJumpSize - sizeof(kJump));
  std::memcpy(at + kJumpSize, &to, sizeof(to));
}

// cmpl $NUMBER, OFFSET(%rip)
constexpr unsigned char kCompare[] = {0x81, 0x3d};

// Of those that NVIDIA's functions begin with; 0 for any other.
size_t InstructionSize(const unsigned char* at) {
  const auto is = [at](std::initializer_list<unsigned char> bytes) {
    return std::equal(bytes.begin(), bytes.end(), at);
  };
  if (is({0xf3, 0x0f, 0x1e, 0xfa})) return 4;  // endbr64
  if ((at[0] & 0xf8) == 0x50) return 1;        // push of a register
  if (at[0] == 0x41 && (at[1] & 0xf8) == 0x50) return 2;
  if (at[0] == 0x48 && at[1] == 0x89 && at[2] >= 0xc0) return 3;  // mov between registers
  if (is({0x48, 0x83, 0xec})) return 4;                           // sub $NUMBER, %rsp
  if (is({kCompare[0], kCompare[1]})) return 10;
  return 0;
}

}  // namespace

void* DriversOwn(const std::string& symbol) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  link_map* map = nullptr;
  CHECK(library != nullptr && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0);
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  for (const ElfW(Dyn)* d = map->l_ld; d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(d->d_un.d_ptr);
    if (d->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(d->d_un.d_ptr);
  }
  // Linkers put the names behind the symbols.
  const auto* const end = reinterpret_cast<const ElfW(Sym)*>(names);
  CHECK(symbols != nullptr && symbols < end);
  for (const ElfW(Sym)* s = symbols; s < end; ++s) {
    if (s->st_shndx != SHN_UNDEF && symbol == names + s->st_name) {
      return reinterpret_cast<void*>(map->l_addr + s->st_value);
    }
  }
  Fail("the driver has no " + symbol);
}

InlinePatch::InlinePatch(void* function, void* instead)
    : at_(static_cast<unsigned char*>(function)) {
  std::memcpy(old_, at_, kSize);
  MakeJump(jump_, instead);
  Move();
  const auto page = static_cast<uintptr_t>(getpagesize());
  const uintptr_t begin = reinterpret_cast<uintptr_t>(at_) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(at_) + kSize;
  CHECK(mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE | PROT_EXEC) ==
        0);
  Write(jump_);
}

void InlinePatch::Write(const unsigned char* bytes) { std::memcpy(at_, bytes, kSize); }

// Where what it reads beside itself is within reach of it; null where all there is taken.
unsigned char* InlinePatch::PageNear() const {
  const auto size = static_cast<size_t>(getpagesize());
  const auto here = reinterpret_cast<intptr_t>(at_) & ~static_cast<intptr_t>(size - 1);
  constexpr intptr_t kStep = 1 << 20, kReach = intptr_t{3} << 29;  // The driver takes much of it.
  for (intptr_t away = kStep; away < kReach; away += kStep) {
    for (const intptr_t at : {here - away, here + away}) {
      void* const hint = reinterpret_cast<void*>(at);
      void* const page = mmap(hint, size, PROT_READ | PROT_WRITE | PROT_EXEC,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (page == hint) return static_cast<unsigned char*>(page);
      if (page != MAP_FAILED) munmap(page, size);
    }
  }
  return nullptr;
}

// The simulated driver's functions are a jump through a slot. NVIDIA's begin by what
// InstructionSize knows. The rest of what a function may begin with is not known here.
void InlinePatch::Move() {
  if (std::memcmp(old_, kJump, sizeof(kJump)) == 0) {
    int32_t offset = 0;
    std::memcpy(&offset, old_ + sizeof(kJump), sizeof(offset));
    void* target = nullptr;
    std::memcpy(&target, at_ + kJumpSize + offset, sizeof(target));
    unsigned char* const page = PageNear();
    if (page != nullptr) MakeJump(page, target);
    moved_ = page;
    return;
  }
  size_t size = 0;
  while (size < kSize) {
    const size_t next = InstructionSize(at_ + size);
    if (next == 0) return;
    size += next;
  }
  unsigned char* const page = PageNear();
  if (page == nullptr) return;
  std::memcpy(page, at_, size);
  for (size_t i = 0; i < size; i += InstructionSize(at_ + i)) {
    if (std::memcmp(at_ + i, kCompare, sizeof(kCompare)) != 0) continue;
    // It reads beside itself: as far from the new place.
    int32_t offset = 0;
    std::memcpy(&offset, at_ + i + sizeof(kCompare), sizeof(offset));
    offset += static_cast<int32_t>(at_ - page);
    std::memcpy(page + i + sizeof(kCompare), &offset, sizeof(offset));
  }
  MakeJump(page + size, at_ + size);
  moved_ = page;
}
