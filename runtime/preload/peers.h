// Access of one device to another's memory, as a program enables it between contexts. The driver's
// own covers what cuMemAlloc gives; chunks are mapped, and each mapping names the devices that may
// touch it. So what is enabled is remembered here and told to the runtimes.
//
// Threads: any.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_PEERS_H_
#define VRAMSPAN_RUNTIME_PRELOAD_PEERS_H_

#include "runtime/preload/cuda_api.h"
#include "runtime/preload/runtimes.h"

namespace vramspan::preload {

CUresult CtxEnablePeerAccess(decltype(&::cuCtxEnablePeerAccess) real, CUcontext peer,
                             unsigned flags);
CUresult CtxDisablePeerAccess(decltype(&::cuCtxDisablePeerAccess) real, CUcontext peer);

// The same for good, where the program asks for it in another way. An error: it has none.
Status OpenTo(CUdevice device, Runtime* runtime);

// The same where copies need it (between_devices.h), and only of what lies on the host where the
// devices do not reach each other. Asked again it costs a load.
void OpenForCopies(Runtime* runtime, CUdevice device);

// The runtime was made for a context, to whose memory others may have access already.
void GrantPeers(Runtime* runtime, CUcontext context);
// A context ends, and with it what was enabled from it or to it. The second is of a device's
// primary context.
void ForgetPeers(CUcontext context);
void ForgetPeersOfPrimary(CUdevice device);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_PEERS_H_
