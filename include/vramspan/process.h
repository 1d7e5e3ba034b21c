/* What a program says to the vramspan that backs its memory already, without a runtime's handle.
 * That is so where a framework has its memory from the allocators of frameworks.h.
 *
 * Under `vramspan run` the same functions are in libvramspan_preload.so: Preload stands for Process
 * in their names (vramspanPreloadPin), and vramspanPreloadLastErrorMessage has the sentence.
 *
 * Errors are as in vramspan.h. CUDA_ERROR_NOT_FOUND: vramspan does not back this memory, or has no
 * runtime on the device. Threads: any.
 */
#ifndef VRAMSPAN_PROCESS_H_
#define VRAMSPAN_PROCESS_H_

#include "vramspan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As vramspanGetStatistics, of the runtime on a device. */
VRAMSPAN_API CUresult vramspanProcessStatistics(int device, vramspanStatistics* out);

/* As vramspanMemPin, vramspanMemUnpin, vramspanMemPrefetchAsync and vramspanMemDiscard. The address
 * says which runtime is meant. */
VRAMSPAN_API CUresult vramspanProcessPin(CUdeviceptr ptr, size_t size);
VRAMSPAN_API CUresult vramspanProcessUnpin(CUdeviceptr ptr, size_t size);
VRAMSPAN_API CUresult vramspanProcessPrefetch(CUdeviceptr ptr, size_t size, vramspanLocation to,
                                              CUstream stream);
VRAMSPAN_API CUresult vramspanProcessDiscard(CUdeviceptr ptr, size_t size, CUstream stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* VRAMSPAN_PROCESS_H_ */
