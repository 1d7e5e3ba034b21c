#include "tools/simcuda/calls_copy.h"

#include "tools/simcuda/capture.h"
#include "tools/simcuda/copy.h"
#include "tools/simcuda/driver.h"
#include "tools/simcuda/thread.h"

namespace simcuda::calls {
namespace {

void* Pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

CUresult CopyAsync(const Copy& copy, CUstream handle) {
  StreamPtr stream;
  if (const CUresult r = FindStream(handle, &stream); r != CUDA_SUCCESS) return r;
  return SubmitCopy(*stream, copy, /*synchronous=*/false);
}

// What captures forbid a call that waits. Work of the legacy stream would be part of a capture in a
// blocking one, and that is the answer that comes first.
CUresult CheckCaptures(const Stream& stream) {
  CUresult result = CUDA_SUCCESS;
  if (stream.kind() == StreamKind::kLegacy) {
    result = capture::CheckLegacyCall(*stream.context(), /*synchronous=*/false);
  }
  if (result != CUDA_SUCCESS) return result;
  return capture::CheckLegacyCall(*stream.context(), /*synchronous=*/true);
}

// In the legacy stream, or the per-thread one of a _ptds entry point.
CUresult CopyNow(const Copy& copy) {
  StreamPtr stream;
  if (const CUresult r = FindStream(nullptr, &stream); r != CUDA_SUCCESS) return r;
  const CUresult r = CheckCaptures(*stream);
  return r != CUDA_SUCCESS ? r : SubmitCopy(*stream, copy, /*synchronous=*/true);
}

CUresult FillAsync(const FillShape& shape, CUstream handle) {
  StreamPtr stream;
  if (const CUresult r = FindStream(handle, &stream); r != CUDA_SUCCESS) return r;
  return SubmitFill(*stream, shape, /*synchronous=*/false);
}

CUresult FillNow(const FillShape& shape) {
  StreamPtr stream;
  if (const CUresult r = FindStream(nullptr, &stream); r != CUDA_SUCCESS) return r;
  const CUresult r = CheckCaptures(*stream);
  return r != CUDA_SUCCESS ? r : SubmitFill(*stream, shape, /*synchronous=*/true);
}

FillShape LinearFill(CUdeviceptr dst, uint32_t value, size_t element_size, size_t count) {
  return {Pointer(dst), value, element_size, count, 1, 0};
}

FillShape PitchedFill(CUdeviceptr dst, size_t pitch, uint32_t value, size_t element_size,
                      size_t width, size_t height) {
  return {Pointer(dst), value, element_size, width, height, pitch};
}

Copy AnyToAny(CUdeviceptr dst, CUdeviceptr src, size_t bytes) {
  return LinearCopy(Pointer(src), Side::kAny, Pointer(dst), Side::kAny, bytes);
}
Copy HostToDevice(CUdeviceptr dst, const void* src, size_t bytes) {
  return LinearCopy(src, Side::kAny, Pointer(dst), Side::kKnown, bytes);
}
Copy DeviceToHost(void* dst, CUdeviceptr src, size_t bytes) {
  return LinearCopy(Pointer(src), Side::kKnown, dst, Side::kAny, bytes);
}
Copy DeviceToDevice(CUdeviceptr dst, CUdeviceptr src, size_t bytes) {
  return LinearCopy(Pointer(src), Side::kKnown, Pointer(dst), Side::kKnown, bytes);
}

Copy PeerToPeer(CUdeviceptr dst, CUdeviceptr src, size_t bytes) {
  Copy copy = DeviceToDevice(dst, src, bytes);
  copy.peer = true;
  return copy;
}

CUresult HostToArray(CUarray dst, size_t offset, const void* src, size_t bytes, Copy* copy) {
  char* first = nullptr;
  const CUresult r = PartOfArray(dst, offset, bytes, &first);
  *copy = LinearCopy(src, Side::kAny, first, Side::kKnown, bytes);
  return r;
}
CUresult ArrayToHost(void* dst, CUarray src, size_t offset, size_t bytes, Copy* copy) {
  char* first = nullptr;
  const CUresult r = PartOfArray(src, offset, bytes, &first);
  *copy = LinearCopy(first, Side::kKnown, dst, Side::kAny, bytes);
  return r;
}

CUresult CheckContexts(CUcontext a, CUcontext b) {
  const auto& contexts = Driver::Get().contexts();
  return contexts.Find(a) && contexts.Find(b) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

}  // namespace

CUresult Memcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes) {
  return CopyNow(AnyToAny(dst, src, bytes));
}

CUresult MemcpyPeer(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context,
                    size_t bytes) {
  if (const CUresult r = CheckContexts(dst_context, src_context); r != CUDA_SUCCESS) return r;
  return CopyNow(PeerToPeer(dst, src, bytes));
}

CUresult MemcpyHtoD(CUdeviceptr dst, const void* src, size_t bytes) {
  return CopyNow(HostToDevice(dst, src, bytes));
}

CUresult MemcpyDtoH(void* dst, CUdeviceptr src, size_t bytes) {
  return CopyNow(DeviceToHost(dst, src, bytes));
}

CUresult MemcpyDtoD(CUdeviceptr dst, CUdeviceptr src, size_t bytes) {
  return CopyNow(DeviceToDevice(dst, src, bytes));
}

CUresult MemcpyHtoA(CUarray dst, size_t offset, const void* src, size_t bytes) {
  Copy copy;
  const CUresult r = HostToArray(dst, offset, src, bytes, &copy);
  return r != CUDA_SUCCESS ? r : CopyNow(copy);
}

CUresult MemcpyAtoH(void* dst, CUarray src, size_t offset, size_t bytes) {
  Copy copy;
  const CUresult r = ArrayToHost(dst, src, offset, bytes, &copy);
  return r != CUDA_SUCCESS ? r : CopyNow(copy);
}

CUresult MemcpyDtoA(CUarray dst, size_t offset, CUdeviceptr src, size_t bytes) {
  char* first = nullptr;
  const CUresult r = PartOfArray(dst, offset, bytes, &first);
  return r != CUDA_SUCCESS
             ? r
             : CopyNow(LinearCopy(Pointer(src), Side::kKnown, first, Side::kKnown, bytes));
}

CUresult MemcpyAtoD(CUdeviceptr dst, CUarray src, size_t offset, size_t bytes) {
  char* first = nullptr;
  const CUresult r = PartOfArray(src, offset, bytes, &first);
  return r != CUDA_SUCCESS
             ? r
             : CopyNow(LinearCopy(first, Side::kKnown, Pointer(dst), Side::kKnown, bytes));
}

CUresult MemcpyAtoA(CUarray dst, size_t dst_offset, CUarray src, size_t src_offset, size_t bytes) {
  char* from = nullptr;
  char* to = nullptr;
  CUresult r = PartOfArray(src, src_offset, bytes, &from);
  if (r == CUDA_SUCCESS) r = PartOfArray(dst, dst_offset, bytes, &to);
  return r != CUDA_SUCCESS ? r : CopyNow(LinearCopy(from, Side::kKnown, to, Side::kKnown, bytes));
}

CUresult Memcpy2D(const CUDA_MEMCPY2D* params) {
  Copy copy;
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = CopyFrom2D(*params, &copy); r != CUDA_SUCCESS) return r;
  return CopyNow(copy);
}

CUresult Memcpy3D(const CUDA_MEMCPY3D* params) {
  Copy copy;
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = CopyFrom3D(*params, &copy); r != CUDA_SUCCESS) return r;
  return CopyNow(copy);
}

CUresult Memcpy3DPeer(const CUDA_MEMCPY3D_PEER* params) {
  Copy copy;
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = CopyFrom3DPeer(*params, &copy); r != CUDA_SUCCESS) return r;
  return CopyNow(copy);
}

CUresult MemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  return CopyAsync(AnyToAny(dst, src, bytes), stream);
}

CUresult MemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
                         CUcontext src_context, size_t bytes, CUstream stream) {
  if (const CUresult r = CheckContexts(dst_context, src_context); r != CUDA_SUCCESS) return r;
  return CopyAsync(PeerToPeer(dst, src, bytes), stream);
}

CUresult MemcpyHtoDAsync(CUdeviceptr dst, const void* src, size_t bytes, CUstream stream) {
  return CopyAsync(HostToDevice(dst, src, bytes), stream);
}

CUresult MemcpyDtoHAsync(void* dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  return CopyAsync(DeviceToHost(dst, src, bytes), stream);
}

CUresult MemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  return CopyAsync(DeviceToDevice(dst, src, bytes), stream);
}

CUresult MemcpyHtoAAsync(CUarray dst, size_t offset, const void* src, size_t bytes,
                         CUstream stream) {
  Copy copy;
  const CUresult r = HostToArray(dst, offset, src, bytes, &copy);
  return r != CUDA_SUCCESS ? r : CopyAsync(copy, stream);
}

CUresult MemcpyAtoHAsync(void* dst, CUarray src, size_t offset, size_t bytes, CUstream stream) {
  Copy copy;
  const CUresult r = ArrayToHost(dst, src, offset, bytes, &copy);
  return r != CUDA_SUCCESS ? r : CopyAsync(copy, stream);
}

CUresult Memcpy2DAsync(const CUDA_MEMCPY2D* params, CUstream stream) {
  Copy copy;
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = CopyFrom2D(*params, &copy); r != CUDA_SUCCESS) return r;
  return CopyAsync(copy, stream);
}

CUresult Memcpy3DAsync(const CUDA_MEMCPY3D* params, CUstream stream) {
  Copy copy;
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = CopyFrom3D(*params, &copy); r != CUDA_SUCCESS) return r;
  return CopyAsync(copy, stream);
}

CUresult Memcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* params, CUstream stream) {
  Copy copy;
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = CopyFrom3DPeer(*params, &copy); r != CUDA_SUCCESS) return r;
  return CopyAsync(copy, stream);
}

CUresult MemcpyBatchAsyncV1(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                            CUmemcpyAttributes* attributes, size_t* attribute_indices,
                            size_t attribute_count, size_t* failed, CUstream stream_handle) {
  StreamPtr stream;
  if (failed != nullptr) *failed = SIZE_MAX;
  if (dsts == nullptr || srcs == nullptr || sizes == nullptr || count == 0 ||
      attributes == nullptr || attribute_indices == nullptr || attribute_count == 0 ||
      attribute_count > count) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (const CUresult r = FindStream(stream_handle, &stream); r != CUDA_SUCCESS) return r;
  if (stream->kind() == StreamKind::kLegacy) return CUDA_ERROR_INVALID_VALUE;
  if (stream->capturing()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  for (size_t i = 0; i < count; ++i) {
    const CUresult r =
        SubmitCopy(*stream, AnyToAny(dsts[i], srcs[i], sizes[i]), /*synchronous=*/false);
    if (r == CUDA_SUCCESS) continue;
    if (failed != nullptr) *failed = i;
    return r;
  }
  return CUDA_SUCCESS;
}

CUresult MemcpyBatchAsyncV2(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                            CUmemcpyAttributes* attributes, size_t* attribute_indices,
                            size_t attribute_count, CUstream stream) {
  return MemcpyBatchAsyncV1(dsts, srcs, sizes, count, attributes, attribute_indices,
                            attribute_count, nullptr, stream);
}

CUresult Memcpy3DBatchAsyncV1(size_t count, CUDA_MEMCPY3D_BATCH_OP* ops, size_t* failed,
                              unsigned long long flags, CUstream stream_handle) {
  StreamPtr stream;
  if (failed != nullptr) *failed = SIZE_MAX;
  if (ops == nullptr || count == 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindStream(stream_handle, &stream); r != CUDA_SUCCESS) return r;
  if (stream->kind() == StreamKind::kLegacy) return CUDA_ERROR_INVALID_VALUE;
  if (stream->capturing()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  for (size_t i = 0; i < count; ++i) {
    Copy copy;
    CUresult r = CopyFrom3DBatch(ops[i], &copy);
    if (r == CUDA_SUCCESS) r = SubmitCopy(*stream, copy, /*synchronous=*/false);
    if (r == CUDA_SUCCESS) continue;
    if (failed != nullptr) *failed = i;
    return r;
  }
  return CUDA_SUCCESS;
}

CUresult Memcpy3DBatchAsyncV2(size_t count, CUDA_MEMCPY3D_BATCH_OP* ops, unsigned long long flags,
                              CUstream stream) {
  return Memcpy3DBatchAsyncV1(count, ops, nullptr, flags, stream);
}

CUresult MemsetD8(CUdeviceptr dst, unsigned char value, size_t count) {
  return FillNow(LinearFill(dst, value, 1, count));
}
CUresult MemsetD16(CUdeviceptr dst, unsigned short value, size_t count) {
  return FillNow(LinearFill(dst, value, 2, count));
}
CUresult MemsetD32(CUdeviceptr dst, unsigned value, size_t count) {
  return FillNow(LinearFill(dst, value, 4, count));
}
CUresult MemsetD2D8(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width,
                    size_t height) {
  return FillNow(PitchedFill(dst, pitch, value, 1, width, height));
}
CUresult MemsetD2D16(CUdeviceptr dst, size_t pitch, unsigned short value, size_t width,
                     size_t height) {
  return FillNow(PitchedFill(dst, pitch, value, 2, width, height));
}
CUresult MemsetD2D32(CUdeviceptr dst, size_t pitch, unsigned value, size_t width, size_t height) {
  return FillNow(PitchedFill(dst, pitch, value, 4, width, height));
}

CUresult MemsetD8Async(CUdeviceptr dst, unsigned char value, size_t count, CUstream stream) {
  return FillAsync(LinearFill(dst, value, 1, count), stream);
}
CUresult MemsetD16Async(CUdeviceptr dst, unsigned short value, size_t count, CUstream stream) {
  return FillAsync(LinearFill(dst, value, 2, count), stream);
}
CUresult MemsetD32Async(CUdeviceptr dst, unsigned value, size_t count, CUstream stream) {
  return FillAsync(LinearFill(dst, value, 4, count), stream);
}
CUresult MemsetD2D8Async(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width,
                         size_t height, CUstream stream) {
  return FillAsync(PitchedFill(dst, pitch, value, 1, width, height), stream);
}
CUresult MemsetD2D16Async(CUdeviceptr dst, size_t pitch, unsigned short value, size_t width,
                          size_t height, CUstream stream) {
  return FillAsync(PitchedFill(dst, pitch, value, 2, width, height), stream);
}
CUresult MemsetD2D32Async(CUdeviceptr dst, size_t pitch, unsigned value, size_t width,
                          size_t height, CUstream stream) {
  return FillAsync(PitchedFill(dst, pitch, value, 4, width, height), stream);
}

}  // namespace simcuda::calls
