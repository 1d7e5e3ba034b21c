// What the libraries of this process export, read from their own tables. The loader's dlsym cannot
// be asked where the question is which dlsym that is.
//
// Threads: any. Allocates nothing, so that it may run before main and inside an allocator.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_ELF_SYMBOLS_H_
#define VRAMSPAN_RUNTIME_PRELOAD_ELF_SYMBOLS_H_

#include <link.h>

namespace vramspan::preload {

// Where the library defines `name`, of this version where that is not null and the library has
// versions. Null where it does not, or where its tables lead out of what can be read of it.
void* FindExport(const dl_phdr_info& library, const char* name, const char* version);

// The first definition of `name` in a library that the loader searches after the one this code is
// in, or after the stub that stands in its place (behind_stub.h); of this version where the library
// has versions. Where `beside` is not null, in a library that defines that too. Null where there is
// none.
void* NextExport(const char* name, const char* version, const char* beside);

// Whether the address lies in the library that this code is in, or in the stub before it.
bool IsOwnCode(const void* address);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_ELF_SYMBOLS_H_
