#ifndef VRAMSPAN_TOOLS_SIMCUDA_CALL_GUARD_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CALL_GUARD_H_

// What happens in front of every entry point: counting, delays and failure switches (control.h),
// and the checks that the row's Needs asks for. Thread-safe.

#include <cuda.h>

#include <cstddef>

#include "tools/simcuda/entry_table.h"

namespace simcuda {

class CallGuard {
 public:
  // `id` is the row's number in the table.
  CallGuard(size_t id, Needs needs, bool per_thread);
  ~CallGuard();
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;

  // Anything but CUDA_SUCCESS: the call ends with it.
  CUresult result() const { return result_; }

 private:
  const bool previous_per_thread_;
  CUresult result_;
};

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CALL_GUARD_H_
