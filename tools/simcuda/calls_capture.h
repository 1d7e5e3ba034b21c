#ifndef VRAMSPAN_TOOLS_SIMCUDA_CALLS_CAPTURE_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CALLS_CAPTURE_H_

// Beginning, ending and asking about stream captures: what cuda.h says of the cu* calls of the same
// names. A number in a name is the version of an older ABI.

#include <cuda.h>

#include <cstddef>

namespace simcuda::calls {

CUresult StreamBeginCapture(CUstream stream, CUstreamCaptureMode mode);
CUresult StreamBeginCapture10000(CUstream stream);
CUresult StreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                   const CUgraphEdgeData* edges, size_t count,
                                   CUstreamCaptureMode mode);
CUresult StreamEndCapture(CUstream stream, CUgraph* graph);
CUresult StreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status);
CUresult StreamGetCaptureInfo10010(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id);
CUresult StreamGetCaptureInfo11030(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies, size_t* count);
// The arrays belong to the calling thread and last until its next call of this function.
CUresult StreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                              CUgraph* graph, const CUgraphNode** dependencies,
                              const CUgraphEdgeData** edges, size_t* count);
CUresult StreamUpdateCaptureDependencies11030(CUstream stream, CUgraphNode* dependencies,
                                              size_t count, unsigned flags);
CUresult StreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* dependencies,
                                         const CUgraphEdgeData* edges, size_t count,
                                         unsigned flags);

}  // namespace simcuda::calls

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CALLS_CAPTURE_H_
