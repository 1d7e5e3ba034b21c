// Two symbols that this library defines for musl's loader alone.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_NOT_FOR_MUSL_H_
#define VRAMSPAN_RUNTIME_PRELOAD_NOT_FOR_MUSL_H_

namespace vramspan::preload {

// By name, and by what dlsym found: then the next library's is meant. Threads: any.
bool IsForMusl(const char* name);
bool IsForMusl(const void* found);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_NOT_FOR_MUSL_H_
