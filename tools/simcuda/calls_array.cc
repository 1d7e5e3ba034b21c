#include "tools/simcuda/calls_array.h"

#include "tools/simcuda/calls_memory.h"
#include "tools/simcuda/capture.h"
#include "tools/simcuda/memory/arrays.h"
#include "tools/simcuda/thread.h"

namespace simcuda::calls {
namespace {

using memory::ArrayPtr;
using memory::MipmappedArrayPtr;
using memory::RangeKind;

// That destroying waits as cuMemFree does was not measured.
CUresult Free(const memory::RangePtr& range) {
  return FreeRangeAt(reinterpret_cast<CUdeviceptr>(range->base), {RangeKind::kArray});
}

}  // namespace

CUresult ArrayCreate(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* d) {
  if (d == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_ARRAY3D_DESCRIPTOR deep = {d->Width, d->Height, 0, d->Format, d->NumChannels, 0};
  return Array3DCreate(array, &deep);
}

CUresult Array3DCreate(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  if (array == nullptr || descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = capture::CheckUnsafeCall(); r != CUDA_SUCCESS) return r;
  return memory::CreateArray(*CurrentContext(), *descriptor, array);
}

CUresult ArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR* descriptor, CUarray array) {
  if (descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_ARRAY3D_DESCRIPTOR d = {};
  if (const CUresult r = Array3DGetDescriptor(&d, array); r != CUDA_SUCCESS) return r;
  *descriptor = {d.Width, d.Height, d.Format, d.NumChannels};
  return CUDA_SUCCESS;
}

CUresult Array3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR* descriptor, CUarray array) {
  if (descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ArrayPtr found = memory::FindArray(array);
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  *descriptor = found->descriptor;
  return CUDA_SUCCESS;
}

CUresult ArrayDestroy(CUarray array) {
  const ArrayPtr found = memory::FindArray(array);
  if (!found || found->is_level) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult r = capture::CheckUnsafeCall(); r != CUDA_SUCCESS) return r;
  memory::ForgetArray(array);
  return Free(found->range);
}

CUresult MipmappedArrayCreate(CUmipmappedArray* array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor,
                              unsigned levels) {
  if (array == nullptr || descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = capture::CheckUnsafeCall(); r != CUDA_SUCCESS) return r;
  return memory::CreateMipmappedArray(*CurrentContext(), *descriptor, levels, array);
}

CUresult MipmappedArrayGetLevel(CUarray* level, CUmipmappedArray array, unsigned number) {
  if (level == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const MipmappedArrayPtr found = memory::FindMipmappedArray(array);
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  if (number >= found->levels.size()) return CUDA_ERROR_INVALID_VALUE;
  *level = found->levels[number];
  return CUDA_SUCCESS;
}

CUresult MipmappedArrayDestroy(CUmipmappedArray array) {
  const MipmappedArrayPtr found = memory::FindMipmappedArray(array);
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult r = capture::CheckUnsafeCall(); r != CUDA_SUCCESS) return r;
  memory::ForgetMipmappedArray(array);
  return Free(found->range);
}

}  // namespace simcuda::calls
