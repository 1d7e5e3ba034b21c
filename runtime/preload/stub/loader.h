// What the stub calls of the C library. It is linked to nothing, so that there is no glibc which it
// does not fit: it finds the functions by itself, in the loader's list of libraries.
//
// Threads: any, but the first call is made while the process starts. Allocates nothing.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_STUB_LOADER_H_
#define VRAMSPAN_RUNTIME_PRELOAD_STUB_LOADER_H_

#include <link.h>
#include <signal.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

namespace vramspan::stub {

// Null: the process has none, or the library that has it is not loaded yet.
struct Loader {
  void* (*dlsym)(void*, const char*);  // The C library's own.
  void* (*dlopen)(const char*, int);
  int (*dlclose)(void*);
  char* (*dlerror)();
  int (*dl_iterate_phdr)(int (*)(dl_phdr_info*, size_t, void*), void*);
  unsigned long (*getauxval)(unsigned long);
  char* (*getenv)(const char*);
  int* (*errno_location)();
  ssize_t (*write)(int, const void*, size_t);
  int (*sigprocmask)(int, const sigset_t*, sigset_t*);
  int (*sigtimedwait)(const sigset_t*, siginfo_t*, const timespec*);
  const char* own_path;  // The stub's, as the loader has it.
};

// Looked for once. What was not there then is looked for again.
const Loader& TheLoader();

// `name` in the first library behind the stub that has it; of any version: what the stub asks for
// is the same function in all of them.
void* NextDefinition(const char* name);
// In any library but the stub.
bool SomebodyDefines(const char* name);

bool Equal(const char* a, const char* b);
bool StartsWith(const char* text, const char* start);

}  // namespace vramspan::stub

#endif  // VRAMSPAN_RUNTIME_PRELOAD_STUB_LOADER_H_
