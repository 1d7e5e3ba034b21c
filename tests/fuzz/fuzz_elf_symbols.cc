// The tables of a library, as the preload reads them to find what it exports. The input is where
// its dynamic section lies and how long it is, of 4 bytes each, and the library as it lies in
// memory.
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "runtime/base/log.h"
#include "runtime/preload/elf_symbols.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::array<uint32_t, 2> dynamic{};
  std::memcpy(dynamic.data(), data, std::min(size, sizeof(dynamic)));
  const size_t rest = size - std::min(size, sizeof(dynamic));
  // Of that many bytes, so that a sanitizer sees what lies behind them read; at the start of a
  // page, as a loader has it.
  constexpr size_t kPage = 4096;
  void* made = nullptr;
  VS_CHECK(posix_memalign(&made, kPage, std::max<size_t>(rest, 1)) == 0);
  const std::unique_ptr<void, decltype(&std::free)> memory(made, &std::free);
  if (rest != 0) std::memcpy(memory.get(), data + sizeof(dynamic), rest);

  std::array<ElfW(Phdr), 2> headers{};
  headers[0].p_type = PT_LOAD;
  headers[0].p_flags = PF_R;
  headers[0].p_memsz = rest;
  headers[1].p_type = PT_DYNAMIC;
  headers[1].p_vaddr = dynamic[0];
  headers[1].p_memsz = dynamic[1];
  dl_phdr_info library{};
  library.dlpi_addr = reinterpret_cast<ElfW(Addr)>(memory.get());
  library.dlpi_phdr = headers.data();
  library.dlpi_phnum = headers.size();

  using vramspan::preload::FindExport;
  for (const char* const name : {"cuInit", "dlsym", "malloc"}) {
    void* const any = FindExport(library, name, nullptr);
    for (const char* const version : {"GLIBC_2.2.5", "V1"}) {
      // Of a version there is only what there is at all.
      if (FindExport(library, name, version) != nullptr) VS_CHECK(any != nullptr);
    }
  }
  return 0;
}
