// The exported symbols and the table of entry points, both made from the rows of the .inc files.
//
// A symbol such as cuMemAlloc_v2 cannot be defined in C++ here: cuda.h declares it already, under a
// name that a macro rewrites, and its parameter list would have to be repeated. So each is a stub
// of one jump through a slot that holds the C++ entry point.

#include <cupti.h>

#include "tools/simcuda/calls_array.h"
#include "tools/simcuda/calls_context.h"
#include "tools/simcuda/calls_copy.h"
#include "tools/simcuda/calls_device.h"
#include "tools/simcuda/calls_external.h"
#include "tools/simcuda/calls_kernels.h"
#include "tools/simcuda/calls_memory.h"
#include "tools/simcuda/calls_object.h"
#include "tools/simcuda/calls_pool.h"
#include "tools/simcuda/calls_stream.h"
#include "tools/simcuda/calls_unsupported.h"
#include "tools/simcuda/calls_vmm.h"
#include "tools/simcuda/entry_point.h"
#include "tools/simcuda/entry_table.h"
#include "tools/simcuda/undo_cuda_names.inc"

namespace simcuda {
namespace {

enum EntryId : size_t {
#define SIMCUDA_ENTRY(base, version, symbol, needs, function) kId_##symbol,
#define SIMCUDA_ENTRY_PER_THREAD(base, version, symbol, suffix, needs, function) \
  kId_##symbol, kId_##symbol##_##suffix,
#include "tools/simcuda/entries_core.inc"
#include "tools/simcuda/entries_kernels.inc"
#undef SIMCUDA_ENTRY
#undef SIMCUDA_ENTRY_PER_THREAD
  kEntryCount
};

template <size_t kId, uint32_t kCallbackId, typename Params>
struct TraceOf : Trace<kCallbackId, kId, Params> {};
// The resolver's name for WithFlags since CUDA 12, so that is what is traced; the id and the struct
// of the plain name are of CUDA 10's function.
template <uint32_t kCallbackId, typename Params>
struct TraceOf<kId_cuGraphInstantiate, kCallbackId, Params>
    : Trace<CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, kId_cuGraphInstantiateWithFlags,
            cuGraphInstantiateWithFlags_params> {};

}  // namespace
}  // namespace simcuda

#if defined(__x86_64__)
#define SIMCUDA_JUMP(symbol) "jmp *simcuda_slot_" #symbol "(%rip)\n"
#elif defined(__aarch64__)
#define SIMCUDA_JUMP(symbol)        \
  "adrp x16, simcuda_slot_" #symbol \
  "\n"                              \
  "ldr x16, [x16, #:lo12:simcuda_slot_" #symbol "]\nbr x16\n"
#else
#error "simcuda: no export stub for this architecture"
#endif

// The slot is plain data with C linkage, hidden; the stub is the exported function.
#define SIMCUDA_SYMBOL(symbol, needs, per_thread, function)                                \
  extern "C" {                                                                             \
  constinit auto simcuda_slot_##symbol = &simcuda::EntryPoint<                             \
      simcuda::kId_##symbol, simcuda::Needs::needs, per_thread, &simcuda::calls::function, \
      simcuda::TraceOf<simcuda::kId_##symbol, CUPTI_DRIVER_TRACE_CBID_##symbol,            \
                       struct symbol##_params_st>>::Call;                                  \
  void simcuda_stub_##symbol() __asm__(#symbol);                                           \
  }                                                                                        \
  __asm__(".text\n.p2align 4\n.globl " #symbol "\n.type " #symbol ", %function\n" #symbol  \
          ":\n" SIMCUDA_JUMP(symbol) ".size " #symbol ", .-" #symbol "\n");
#define SIMCUDA_ENTRY(base, version, symbol, needs, function) \
  SIMCUDA_SYMBOL(symbol, needs, false, function)
#define SIMCUDA_ENTRY_PER_THREAD(base, version, symbol, suffix, needs, function) \
  SIMCUDA_SYMBOL(symbol, needs, false, function)                                 \
  SIMCUDA_SYMBOL(symbol##_##suffix, needs, true, function)
#include "tools/simcuda/entries_core.inc"
#include "tools/simcuda/entries_kernels.inc"
#undef SIMCUDA_ENTRY
#undef SIMCUDA_ENTRY_PER_THREAD

namespace simcuda {
namespace {

#define SIMCUDA_ROW(base, version, symbol, needs, per_thread) \
  EntryInfo{base,       version,      #symbol,                \
            per_thread, Needs::needs, reinterpret_cast<void*>(&simcuda_stub_##symbol)},
#define SIMCUDA_ENTRY(base, version, symbol, needs, function) \
  SIMCUDA_ROW(#base, version, symbol, needs, false)
#define SIMCUDA_ENTRY_PER_THREAD(base, version, symbol, suffix, needs, function) \
  SIMCUDA_ROW(#base, version, symbol, needs, false)                              \
  SIMCUDA_ROW(#base, version, symbol##_##suffix, needs, true)
const EntryInfo kEntries[] = {
#include "tools/simcuda/entries_core.inc"
#include "tools/simcuda/entries_kernels.inc"
};
#undef SIMCUDA_ENTRY
#undef SIMCUDA_ENTRY_PER_THREAD

}  // namespace

size_t EntryCount() { return kEntryCount; }
const EntryInfo& Entry(size_t id) { return kEntries[id]; }

}  // namespace simcuda
