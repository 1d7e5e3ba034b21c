// What each driver call means to an observer, by CUPTI's number of it. Inside this folder only.
//
// Calls of a newer driver than these headers are of no interest: nobody can say what their
// parameters are. Left out as well: the entry points for 32-bit addresses (cuMemcpyHtoD without _v2
// and the like), which no 64-bit program can reach.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_CALL_TABLE_H_
#define VRAMSPAN_RUNTIME_OBSERVE_CALL_TABLE_H_

#include <cuda.h>

#include <cstdint>

#include "runtime/observe/decoder.h"
#include "runtime/observe/knowledge.h"
#include "runtime/observe/submission.h"

namespace vramspan {

struct Call {
  CallClass call_class = CallClass::kNone;
  bool per_thread = false;  // Its null stream is the thread's own.
  bool copies_from_host = false;
  bool returns_done = false;                          // Its work is done when it returns.
  bool looks_up = false;                              // See Decoder::LooksUp.
  uint64_t (*address)(const void* params) = nullptr;  // What it looks up, where it is one thing.
  WaitsFor waits_for = WaitsFor::kAll;                // Of calls that wait.
  // Of calls that submit, or wait for a stream. `stream` yields what the parameters hold; null
  // where they hold none.
  CUstream (*stream)(const void* params) = nullptr;
  void (*decode)(Knowledge& known, const void* params, Submission* out) = nullptr;
  // Of calls that define; either may be null. `learn` is for those that succeeded.
  void (*before)(Knowledge& known, const void* params) = nullptr;
  void (*learn)(Knowledge& known, const void* params) = nullptr;
};

// REQUIRES: call < CallCount().
const Call& CallAt(uint32_t call);
uint32_t CallCount();

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_CALL_TABLE_H_
