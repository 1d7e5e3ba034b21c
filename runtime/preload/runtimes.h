// The runtimes of this process: one for each device, made when memory is first allocated in a
// context of it, for that context. Memory that is allocated in another context of the same device
// stays the driver's: work there is not seen. A device on which vramspan cannot work has none, and
// one line said why.
//
// Threads: any. A runtime ends with its context, which no thread may use then any more. One that
// does all the same is inside a hook, and what that has looked up stays until it returns
// (hook_scope.h).
#ifndef VRAMSPAN_RUNTIME_PRELOAD_RUNTIMES_H_
#define VRAMSPAN_RUNTIME_PRELOAD_RUNTIMES_H_

#include "runtime/api/runtime.h"
#include "runtime/api/tracing.h"
#include "runtime/preload/cuda_api.h"

namespace vramspan::preload {

// Devices beyond these stay the driver's: no more than these can be traced.
inline constexpr size_t kMostDevices = Tracing::kMost;

// The runtime for allocations in the current context; made where there is none. Null where memory
// comes from the driver.
Runtime* RuntimeForAllocation();
// The user insists on a broker, and the one that is there does not want this process: it is not to
// have the driver's memory in place of a runtime's.
bool AllocationsRefused();
// The runtime whose memory holds the address; null for memory of others.
Runtime* RuntimeOf(CUdeviceptr p);
// The runtime of a device; null where there is none. For those that want its memory back.
Runtime* RuntimeOfDevice(CUdevice device);

// The runtime of a context; null where there is none.
Runtime* RuntimeOfContext(CUcontext context);

// Calls it with the device's primary context, which may be made for that.
void WithPrimary(CUdevice device, void (*call)(CUcontext));

// Ends the runtime that belongs to the context, or to a device's primary context.
void EndRuntime(CUcontext context);
void EndRuntimeOfPrimary(CUdevice device);

// Work is about to begin that nobody sees: memory stays where it is from here on, and what is
// allocated from here on is the driver's, or refused where the user insists on a broker. `why`: of
// the program, a literal.
void LeaveToDriver(const char* why);
bool LeftToDriver();

// The program is about to make runtimes of its own, so none is made here from now on. False where
// one was made already.
bool LeaveToProgram();

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_RUNTIMES_H_
