// Legacy IPC handles of memory of ours (cuIpcGetMemHandle and what belongs to it), between two
// processes that both have the preload.
//
// A handle of ours names an allocation by its process and a secret. The memory is pinned and made
// shareable when its handle is first asked for (Runtime::Share), and stays so until it is freed. A
// thread of the exporting process (ipc_server.h) answers on an abstract unix socket, to processes
// of the same user that know the secret, with one file descriptor for each physical handle; whoever
// opens the handle maps those at addresses of the driver's, in one piece. What was opened stays
// mapped until it is closed, whatever becomes of the exporter. Handles of the driver's own pass
// through.
//
// Threads: any. A child of fork has none of it.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_IPC_H_
#define VRAMSPAN_RUNTIME_PRELOAD_IPC_H_

#include "runtime/base/units.h"
#include "runtime/preload/cuda_api.h"

namespace vramspan::preload {

// Hooks (ipc_export.cc, ipc_import.cc).
CUresult IpcGetMemHandle(decltype(&::cuIpcGetMemHandle) real, CUipcMemHandle* handle,
                         CUdeviceptr p);
CUresult IpcOpenMemHandle(decltype(&::cuIpcOpenMemHandle_v2) real, CUdeviceptr* p,
                          CUipcMemHandle handle, unsigned flags);
CUresult IpcCloseMemHandle(decltype(&::cuIpcCloseMemHandle) real, CUdeviceptr p);

// The allocation that begins at `base`, or all in the range, is freed next: nobody gets it from
// here on. One load where nothing was exported.
void ForgetExported(CUdeviceptr base);
void ForgetAllExported(CUdeviceptr begin, Bytes size);

// Whether handles that name this socket are this process's own.
bool IsExporter(uint64_t socket);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_IPC_H_
