#ifndef VRAMSPAN_TOOLS_SIMCUDA_COPY_H_
#define VRAMSPAN_TOOLS_SIMCUDA_COPY_H_

// Copies and fills as the calls see them: arguments to shapes, checks, and the real driver's rules
// on when the caller waits. Thread-safe.

#include <cuda.h>

#include <cstddef>

#include "tools/simcuda/op.h"
#include "tools/simcuda/stream.h"

namespace simcuda {

// What an address of a copy must be.
enum class Side {
  kAny,    // device, page-locked or pageable
  kKnown,  // an address that the driver knows (CUDA_ERROR_INVALID_VALUE otherwise)
};

struct Copy {
  CopyShape shape;
  Side src = Side::kAny;
  Side dst = Side::kAny;
  bool peer = false;  // By a call that names the contexts: the driver finds a way.
};

Copy LinearCopy(const void* src, Side src_side, void* dst, Side dst_side, size_t bytes);

// Part of a 1D array, by bytes; CUDA_ERROR_INVALID_VALUE where there is no such part.
CUresult PartOfArray(CUarray array, size_t offset, size_t bytes, char** first);

// CUDA_ERROR_INVALID_VALUE for contradicting extents and pitches, and for what lies beyond an array
// or between its elements.
CUresult CopyFrom2D(const CUDA_MEMCPY2D& params, Copy* copy);
CUresult CopyFrom3D(const CUDA_MEMCPY3D& params, Copy* copy);
CUresult CopyFrom3DPeer(const CUDA_MEMCPY3D_PEER& params, Copy* copy);
// Of a batch; here an empty extent is an error, too.
CUresult CopyFrom3DBatch(const CUDA_MEMCPY3D_BATCH_OP& op, Copy* copy);

// Whether both sides are what they must be, over their whole extent. `maker`, where it is known,
// must reach them (memory/reach.h).
CUresult CheckCopy(const Copy& copy, const Context* maker = nullptr);
// Reserved addresses are looked up when the call is made: what is not mapped with access just then
// is refused, whatever would be there when the copy ran. (Where the call does not say that the
// address is the device's, the real driver takes it for the host's, and crashes.)
CUresult CheckMapped(const void* address, size_t extent, const Context* by = nullptr);
// Alignment, pitch, and that the target is known.
CUresult CheckFill(const FillShape& shape);

// Checks, and submits to the stream. `synchronous` is for the calls without Async: they wait unless
// both sides are device memory or a small pageable source was staged. Async calls wait as well
// where pageable memory would have to stay as it is (to pageable memory, or from more than 64 KiB
// of it). In a capturing stream nothing is staged or waited for. An empty copy does nothing.
CUresult SubmitCopy(Stream& stream, const Copy& copy, bool synchronous);
CUresult SubmitFill(Stream& stream, const FillShape& shape, bool synchronous);

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_COPY_H_
