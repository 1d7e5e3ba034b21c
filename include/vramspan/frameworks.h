/* Allocators for frameworks that take their allocator from a shared library: PyTorch
 * (torch.cuda.memory.CUDAPluggableAllocator) and CuPy (cupy.cuda.CFunctionAllocator). Nothing is
 * included and nothing linked: the framework finds the functions of libvramspan.so by their names.
 *
 * The first allocation on a device makes a runtime for the device, in its primary context. The
 * environment configures the runtime (VRAMSPAN_DEVICE_MEMORY and the others of vramspan.h). The
 * runtime lives as long as the process. Sizes are bytes. Threads: any. Memory that a framework
 * allocates elsewhere (workspaces of libraries, graphs) is not the runtime's.
 * examples/torch_allocator.py and examples/cupy_allocator.py are whole programs.
 */
#ifndef VRAMSPAN_FRAMEWORKS_H_
#define VRAMSPAN_FRAMEWORKS_H_

#include <stddef.h>
#include <sys/types.h>

#include "vramspan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* PyTorch's signatures. `stream` is a cudaStream_t. Memory is usable in all streams. Freed memory
 * is handed out again only when the work that was submitted before has ended. malloc returns NULL
 * in these cases:
 *  - There is no room. One line on stderr says why.
 *  - The device got no runtime. Only the first such call says why, in one line on stderr.
 *  - `size` is 0 or less, `device` is not 0 to 63, or this is a child of fork whose parent has
 *    runtimes. No line says so.
 * VRAMSPAN_LOG=off leaves all lines out. A free that fails says why, in one line on stderr. */
VRAMSPAN_API void* vramspan_torch_malloc(ssize_t size, int device, void* stream);
VRAMSPAN_API void vramspan_torch_free(void* ptr, ssize_t size, int device, void* stream);

/* CuPy's signatures. `param` is ignored. NULL as above. CuPy does not check for NULL. */
VRAMSPAN_API void* vramspan_cupy_malloc(void* param, size_t size, int device);
VRAMSPAN_API void vramspan_cupy_free(void* param, void* ptr, int device);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* VRAMSPAN_FRAMEWORKS_H_ */
