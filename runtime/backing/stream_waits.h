// Whether a stream can be made to wait for a value, by which launches are held: found by trying.
#ifndef VRAMSPAN_RUNTIME_BACKING_STREAM_WAITS_H_
#define VRAMSPAN_RUNTIME_BACKING_STREAM_WAITS_H_

#include "runtime/base/status.h"
#include "runtime/driver/driver.h"

namespace vramspan {

// Puts a wait that is over, and a write, into a stream of its own: values of 32 bits. Waits for
// neither. FailedPrecondition where the driver refuses. The word that they use stays until the
// context goes: to free it could wait for work of the program.
Status TryStreamWaits(const Driver& driver, CUcontext context, const Capabilities& device);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BACKING_STREAM_WAITS_H_
