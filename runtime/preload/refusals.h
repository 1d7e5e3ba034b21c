// What the program asked of us and does not get.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_REFUSALS_H_
#define VRAMSPAN_RUNTIME_PRELOAD_REFUSALS_H_

#include "runtime/base/status.h"
#include "runtime/preload/cuda_api.h"

namespace vramspan::preload {

// The program's result. The first time that there is no memory a line says why, with VRAMSPAN_QUIET
// too, since out of memory is what it does not expect here; all else, and what comes later, is for
// VRAMSPAN_LOG=info.
CUresult Told(const Status& status);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_REFUSALS_H_
