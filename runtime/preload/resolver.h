// Where a program's questions for driver functions are answered: dlsym, dlvsym, cuGetProcAddress.
//
// The real one is asked first, always. Where it answers a function that has a hook, told by the
// function's address, the hook is the answer; whatever else it says stands. So a function that the
// driver lacks stays unknown, and versions and per-thread variants are the driver's own choice.
//
// Threads: any, also before main. No lock is held over a call of the loader: it has one of its own,
// under which a library's constructor may come here.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_RESOLVER_H_
#define VRAMSPAN_RUNTIME_PRELOAD_RESOLVER_H_

#include <cstddef>
#include <string>

#include "runtime/preload/cuda_api.h"

namespace vramspan::preload {

// The path of the driver in this process; empty where none is loaded.
std::string DriverPath();

// The loader's own dlsym, whatever libraries export others.
void* LoaderSymbol(void* library, const char* name);

// A function of the driver itself, past every hook; null where it has none of that name.
void* DriverSymbol(const char* name);
template <typename Function>
Function DriverFunction(const char* name) {
  return reinterpret_cast<Function>(DriverSymbol(name));
}

// Hooks.
CUresult GetProcAddress(decltype(&::cuGetProcAddress) real, const char* symbol, void** function,
                        int version, cuuint64_t flags);
CUresult GetProcAddressV2(decltype(&::cuGetProcAddress_v2) real, const char* symbol,
                          void** function, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult* status);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_RESOLVER_H_
