#ifndef VRAMSPAN_TOOLS_SIMCUDA_CAPTURE_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CAPTURE_H_

// What the rest of simcuda asks of stream capture. The calls that begin and end captures, the
// sessions and the graphs they fill are in capture.cc and the graph files.

#include <cuda.h>

#include "tools/simcuda/event.h"
#include "tools/simcuda/op.h"
#include "tools/simcuda/stream.h"

namespace simcuda::capture {

// Before a call that a capture forbids to threads which are not relaxed: cuStreamSynchronize,
// cuStreamQuery, cuEventSynchronize, cuEventQuery, cuMemAlloc, cuMemFree, page-locked allocation.
// Forbidden when the calling thread's mode is not relaxed and it has a capture of its own in a mode
// other than relaxed, or (thread mode global) any thread has one begun in global mode. Forbidden
// calls invalidate those captures and get CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED. Cheap when nothing
// captures.
CUresult CheckUnsafeCall();

// Before cuCtxSynchronize, synchronous copies and sets, and any work in the legacy stream:
// forbidden, whatever the thread's mode, while a blocking stream of the context captures
// (CUDA_ERROR_STREAM_CAPTURE_IMPLICIT for legacy work, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED for
// `synchronous` calls, which any capture of the context forbids). Invalidates the captures
// concerned.
CUresult CheckLegacyCall(Context& context, bool synchronous);

// The stream captures: makes the op a node of its graph. Returns
// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED and invalidates for kinds that cannot be captured,
// CUDA_ERROR_STREAM_CAPTURE_INVALIDATED where the capture was invalidated before. `diverted` is
// false when the capture had ended meanwhile: run the op.
CUresult Divert(Stream& stream, const OpPtr& op, bool* diverted);

// cuEventRecord into a capturing stream: marks the event with the stream's latest nodes.
CUresult OnEventRecord(Stream& stream, const EventPtr& event, unsigned flags, bool* handled);

// cuStreamWaitEvent, called for every one of them: joins the capture where the event carries a mark
// or the stream captures. `handled` is false where no capture is concerned.
CUresult OnEventWait(Stream& stream, const EventPtr& event, unsigned flags, bool* handled);

// Before cuStreamSynchronize, cuStreamQuery of a stream, or destruction of it: a capturing stream
// gives CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED and invalidates. Destruction ends its capture
// quietly.
CUresult CheckStreamIdleCall(Stream& stream);
void OnStreamDestroy(Stream& stream);

// Before cuEventQuery and cuEventSynchronize: CUDA_ERROR_CAPTURED_EVENT where the event's latest
// record was captured.
CUresult CheckEventIdleCall(Event& event);

// cuThreadExchangeStreamCaptureMode.
CUresult ExchangeThreadMode(CUstreamCaptureMode* mode);

}  // namespace simcuda::capture

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CAPTURE_H_
