#include "tests/preload/inline_patch.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

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

// Of all that a function may begin with, only the jump through a slot is known here: it is what the
// simulated driver's functions are.
void InlinePatch::Move() {
  if (std::memcmp(old_, kJump, sizeof(kJump)) != 0) return;
  int32_t offset = 0;
  std::memcpy(&offset, old_ + sizeof(kJump), sizeof(offset));
  void* target = nullptr;
  std::memcpy(&target, at_ + kJumpSize + offset, sizeof(target));
  void* const page = mmap(nullptr, static_cast<size_t>(getpagesize()),
                          PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
  MakeJump(static_cast<unsigned char*>(page), target);
  moved_ = page;
}
