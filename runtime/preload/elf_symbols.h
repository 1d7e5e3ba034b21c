// What the libraries of this process export, read from their own tables. The loader's dlsym cannot
// be asked where the question is which dlsym that is.
//
// Threads: any. Allocates nothing, so that it may run before main and inside an allocator.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_ELF_SYMBOLS_H_
#define VRAMSPAN_RUNTIME_PRELOAD_ELF_SYMBOLS_H_

namespace vramspan::preload {

// The first definition of `name` in a library that the loader searches after the one this code is
// in; of this version where the library has versions. Where `beside` is not null, in a library that
// defines that too. Null where there is none.
void* NextExport(const char* name, const char* version, const char* beside);

// Whether the address lies in the library that this code is in.
bool IsOwnCode(const void* address);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_ELF_SYMBOLS_H_
