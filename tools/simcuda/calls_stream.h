#ifndef VRAMSPAN_TOOLS_SIMCUDA_CALLS_STREAM_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CALLS_STREAM_H_

// Streams, events, host functions, waits and writes on memory words: functions behind rows of
// entries_core.inc.

#include <cuda.h>

namespace simcuda::calls {

CUresult StreamCreate(CUstream* stream, unsigned flags);
CUresult StreamCreateWithPriority(CUstream* stream, unsigned flags, int priority);
CUresult StreamDestroy(CUstream stream);
CUresult StreamGetPriority(CUstream stream, int* priority);
CUresult StreamGetFlags(CUstream stream, unsigned* flags);
CUresult StreamGetId(CUstream stream, unsigned long long* id);
CUresult StreamGetDevice(CUstream stream, CUdevice* device);
CUresult StreamGetCtx(CUstream stream, CUcontext* context);
CUresult StreamGetCtxV2(CUstream stream, CUcontext* context, CUgreenCtx* green);
CUresult StreamQuery(CUstream stream);
CUresult StreamSynchronize(CUstream stream);
CUresult StreamWaitEvent(CUstream stream, CUevent event, unsigned flags);
CUresult StreamAddCallback(CUstream stream, CUstreamCallback callback, void* user_data,
                           unsigned flags);
CUresult StreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t size, unsigned flags);
CUresult StreamCopyAttributes(CUstream destination, CUstream source);
CUresult StreamGetAttribute(CUstream stream, CUstreamAttrID attribute, CUstreamAttrValue* value);
CUresult StreamSetAttribute(CUstream stream, CUstreamAttrID attribute,
                            const CUstreamAttrValue* value);
CUresult ThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode);

CUresult StreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags);
CUresult StreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags);
CUresult StreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags);
CUresult StreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags);
CUresult StreamBatchMemOp(CUstream stream, unsigned count, CUstreamBatchMemOpParams* params,
                          unsigned flags);

// The functions without _v2, which take the flag for relaxed writes and know no barrier. As on a
// driver whose module was loaded with NVreg_EnableStreamMemOPs=1.
CUresult StreamWriteValue32V1(CUstream stream, CUdeviceptr address, cuuint32_t value,
                              unsigned flags);
CUresult StreamWriteValue64V1(CUstream stream, CUdeviceptr address, cuuint64_t value,
                              unsigned flags);
CUresult StreamBatchMemOpV1(CUstream stream, unsigned count, CUstreamBatchMemOpParams* params,
                            unsigned flags);
CUresult LaunchHostFunc(CUstream stream, CUhostFn function, void* user_data);

CUresult EventCreate(CUevent* event, unsigned flags);
CUresult EventDestroy(CUevent event);
CUresult EventRecord(CUevent event, CUstream stream);
CUresult EventRecordWithFlags(CUevent event, CUstream stream, unsigned flags);
CUresult EventQuery(CUevent event);
CUresult EventSynchronize(CUevent event);
CUresult EventElapsedTime(float* milliseconds, CUevent start, CUevent end);

}  // namespace simcuda::calls

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CALLS_STREAM_H_
