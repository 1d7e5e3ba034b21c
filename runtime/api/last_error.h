// The edge to C: a status becomes a CUresult, and its sentence is kept for the thread.
#ifndef VRAMSPAN_RUNTIME_API_LAST_ERROR_H_
#define VRAMSPAN_RUNTIME_API_LAST_ERROR_H_

#include "include/vramspan/vramspan.h"
#include "runtime/base/status.h"

namespace vramspan {

// Keeps the sentence of a failure. A thread that has ended its own data keeps none.
CUresult Report(const Status& status);

// The calling thread's last one, "" if none. Valid until its next failure.
const char* LastErrorMessage();

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_LAST_ERROR_H_
