// A program that makes runtimes of its own, and was started with the preload all the same.
#ifndef VRAMSPAN_RUNTIME_API_BESIDE_PRELOAD_H_
#define VRAMSPAN_RUNTIME_API_BESIDE_PRELOAD_H_

#include "runtime/base/status.h"

namespace vramspan {

// Has the preload stand aside for as long as the process lives, where there is one: two vramspans
// would take each other's calls for the program's. FailedPrecondition where it has given the
// program memory already. Before the driver is opened for a runtime of the program's.
Status HavePreloadStandAside();

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_BESIDE_PRELOAD_H_
