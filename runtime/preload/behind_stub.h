// Where the stub (stub/) has opened this library, late. Programs are bound to the stub then, and
// the library takes the stub's place: its exports are as our own, and what comes next comes after
// it.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_BEHIND_STUB_H_
#define VRAMSPAN_RUNTIME_PRELOAD_BEHIND_STUB_H_

#include <cstddef>

extern "C" {

// What the stub says of itself. It lives as long as the process.
struct vramspanStubPlace {
  size_t size;  // Of this record. A stub of another release may have another.
  const char *begin, *end;
  void* (*next)(const char* name);  // As dlsym with RTLD_NEXT answers the stub.
};

// Not 0: it is of another release. To be called before any other function of this library.
using vramspanStandBehind = int (*)(const vramspanStubPlace* place);
}

namespace vramspan::preload {

// Threads: any. Nothing changes once a hook is called.
bool BehindStub();
bool InStub(const void* address);
// What represents this library in the order in which the loader searches: `own`, or the stub.
const void* Foremost(const void* own);
// The stub's `next`. Only BehindStub.
void* AfterStub(const char* name);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_BEHIND_STUB_H_
