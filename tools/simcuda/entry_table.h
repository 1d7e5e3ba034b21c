#ifndef VRAMSPAN_TOOLS_SIMCUDA_ENTRY_TABLE_H_
#define VRAMSPAN_TOOLS_SIMCUDA_ENTRY_TABLE_H_

// The table of entry points. Each row of entries_core.inc and entries_kernels.inc is
//
//   SIMCUDA_ENTRY(base, version, symbol, needs, function)
//   SIMCUDA_ENTRY_PER_THREAD(base, version, symbol, suffix, needs, function)
//
// base      the name cuGetProcAddress is asked for (cuMemAlloc)
// version   the first CUDA version with this ABI (3020), from cudaTypedefs.h
// symbol    the exported name with its ABI suffix (cuMemAlloc_v2)
// suffix    ptsz or ptds: a second symbol with that suffix runs the same function with the
// per-thread
//           default stream
// needs     what a call must find, see Needs
// function  the C++ function in namespace simcuda::calls that does it, declared in a calls_*.h
//
// Everything else follows from the row: the exported symbol, the checks in front of the function
// (call_guard.h), call counting, failure switches, callbacks (callbacks.h), and cuGetProcAddress.

#include <cstddef>
#include <string_view>

namespace simcuda {

enum class Needs {
  kNothing,  // works before cuInit
  kInit,     // CUDA_ERROR_NOT_INITIALIZED before cuInit
  kContext,  // also a current context that lives: CUDA_ERROR_INVALID_CONTEXT, or its sticky error
};

struct EntryInfo {
  std::string_view base;
  int version;
  std::string_view symbol;
  bool per_thread;  // a _ptsz or _ptds symbol
  Needs needs;
  void* address;  // of the exported symbol
};

size_t EntryCount();
const EntryInfo& Entry(size_t id);

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_ENTRY_TABLE_H_
