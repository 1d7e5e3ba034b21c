#ifndef VRAMSPAN_TOOLS_SIMCUDA_CALLS_COPY_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CALLS_COPY_H_

// Copies and fills: functions behind rows of entries_core.inc.

#include <cuda.h>

namespace simcuda::calls {

CUresult Memcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes);
CUresult MemcpyPeer(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context,
                    size_t bytes);
CUresult MemcpyHtoD(CUdeviceptr dst, const void* src, size_t bytes);
CUresult MemcpyDtoH(void* dst, CUdeviceptr src, size_t bytes);
CUresult MemcpyDtoD(CUdeviceptr dst, CUdeviceptr src, size_t bytes);
CUresult MemcpyHtoA(CUarray dst, size_t offset, const void* src, size_t bytes);
CUresult MemcpyAtoH(void* dst, CUarray src, size_t offset, size_t bytes);
CUresult MemcpyDtoA(CUarray dst, size_t offset, CUdeviceptr src, size_t bytes);
CUresult MemcpyAtoD(CUdeviceptr dst, CUarray src, size_t offset, size_t bytes);
CUresult MemcpyAtoA(CUarray dst, size_t dst_offset, CUarray src, size_t src_offset, size_t bytes);
CUresult Memcpy2D(const CUDA_MEMCPY2D* copy);
CUresult Memcpy3D(const CUDA_MEMCPY3D* copy);
CUresult Memcpy3DPeer(const CUDA_MEMCPY3D_PEER* copy);

CUresult MemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream);
CUresult MemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
                         CUcontext src_context, size_t bytes, CUstream stream);
CUresult MemcpyHtoDAsync(CUdeviceptr dst, const void* src, size_t bytes, CUstream stream);
CUresult MemcpyDtoHAsync(void* dst, CUdeviceptr src, size_t bytes, CUstream stream);
CUresult MemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream);
CUresult MemcpyHtoAAsync(CUarray dst, size_t offset, const void* src, size_t bytes,
                         CUstream stream);
CUresult MemcpyAtoHAsync(void* dst, CUarray src, size_t offset, size_t bytes, CUstream stream);
CUresult Memcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream stream);
CUresult Memcpy3DAsync(const CUDA_MEMCPY3D* copy, CUstream stream);
CUresult Memcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream);
CUresult MemcpyBatchAsyncV1(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                            CUmemcpyAttributes* attributes, size_t* attribute_indices,
                            size_t attribute_count, size_t* failed, CUstream stream);
CUresult MemcpyBatchAsyncV2(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                            CUmemcpyAttributes* attributes, size_t* attribute_indices,
                            size_t attribute_count, CUstream stream);
CUresult Memcpy3DBatchAsyncV1(size_t count, CUDA_MEMCPY3D_BATCH_OP* ops, size_t* failed,
                              unsigned long long flags, CUstream stream);
CUresult Memcpy3DBatchAsyncV2(size_t count, CUDA_MEMCPY3D_BATCH_OP* ops, unsigned long long flags,
                              CUstream stream);

CUresult MemsetD8(CUdeviceptr dst, unsigned char value, size_t count);
CUresult MemsetD16(CUdeviceptr dst, unsigned short value, size_t count);
CUresult MemsetD32(CUdeviceptr dst, unsigned value, size_t count);
CUresult MemsetD2D8(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width,
                    size_t height);
CUresult MemsetD2D16(CUdeviceptr dst, size_t pitch, unsigned short value, size_t width,
                     size_t height);
CUresult MemsetD2D32(CUdeviceptr dst, size_t pitch, unsigned value, size_t width, size_t height);

CUresult MemsetD8Async(CUdeviceptr dst, unsigned char value, size_t count, CUstream stream);
CUresult MemsetD16Async(CUdeviceptr dst, unsigned short value, size_t count, CUstream stream);
CUresult MemsetD32Async(CUdeviceptr dst, unsigned value, size_t count, CUstream stream);
CUresult MemsetD2D8Async(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width,
                         size_t height, CUstream stream);
CUresult MemsetD2D16Async(CUdeviceptr dst, size_t pitch, unsigned short value, size_t width,
                          size_t height, CUstream stream);
CUresult MemsetD2D32Async(CUdeviceptr dst, size_t pitch, unsigned value, size_t width,
                          size_t height, CUstream stream);

}  // namespace simcuda::calls

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CALLS_COPY_H_
