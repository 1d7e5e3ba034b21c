// libgcc's unwinder asks glibc 2.35 which library an address lies in. That glibc answers without a
// lock. An older one can list the libraries, with its loader's lock held.
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>

extern "C" {

namespace {

struct Search {
  ElfW(Addr) address;
  dl_find_object* result;
};

int Visit(dl_phdr_info* library, size_t, void* data) {
  const Search& search = *static_cast<Search*>(data);
  ElfW(Addr) begin = ~ElfW(Addr){0}, end = 0, eh_frame = 0;
  bool inside = false;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = library->dlpi_phdr[i];
    const ElfW(Addr) at = library->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_GNU_EH_FRAME) eh_frame = at;
    if (header.p_type != PT_LOAD) continue;
    if (at < begin) begin = at;
    if (at + header.p_memsz > end) end = at + header.p_memsz;
    inside = inside || (search.address >= at && search.address - at < header.p_memsz);
  }
  if (!inside || eh_frame == 0) return 0;
  *search.result = {};
  search.result->dlfo_map_start = reinterpret_cast<void*>(begin);
  search.result->dlfo_map_end = reinterpret_cast<void*>(end);
  search.result->dlfo_eh_frame = reinterpret_cast<void*>(eh_frame);
  return 1;
}

using Find = int(void*, dl_find_object*);
Find* glibcs = nullptr;

// Before any thread of the program's can be in a frame of this binary's.
__attribute__((constructor)) void LookUp() {
  glibcs = reinterpret_cast<Find*>(dlvsym(RTLD_DEFAULT, "_dl_find_object", "GLIBC_2.35"));
  // The program is not to hear of it.
  if (glibcs == nullptr) dlerror();
}

}  // namespace

__attribute__((visibility("hidden"))) int _dl_find_object(void* address, dl_find_object* result) {
  if (glibcs != nullptr) return glibcs(address, result);
  Search search = {reinterpret_cast<ElfW(Addr)>(address), result};
  return dl_iterate_phdr(&Visit, &search) == 1 ? 0 : -1;
}

}  // extern "C"
