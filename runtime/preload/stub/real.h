// libvramspan_preload.so, which the stub opens when CUDA comes into the process: from its own
// folder, and once.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_STUB_REAL_H_
#define VRAMSPAN_RUNTIME_PRELOAD_STUB_REAL_H_

namespace vramspan::stub {

// Its handle; opened where the process has libcuda, or CUPTI. Null: not yet, or never. That it
// cannot be loaded is said, once. Never: in a program with more rights than its user, beside
// another preload of ours, and where a runtime that the program links has said so. Threads: any.
void* Real();
// Null where it was not opened yet.
void* RealIfOpen();
// It will not be opened any more. False: it has been.
bool NeverOpen();
// Nothing will change: it is open, or it never will be.
bool Settled();

// A library that is loaded, or null. The program's dlerror says nothing of it.
void* Loaded(const char* soname);

}  // namespace vramspan::stub

#endif  // VRAMSPAN_RUNTIME_PRELOAD_STUB_REAL_H_
