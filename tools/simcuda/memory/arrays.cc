#include "tools/simcuda/memory/arrays.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "tools/simcuda/handle_table.h"
#include "tools/simcuda/memory/allocations.h"

namespace simcuda::memory {
namespace {

// Lengths are an H100's.
constexpr size_t kMaxWidth = 131072;
constexpr size_t kMaxHeight = 65536;
constexpr size_t kMaxVolume = 16384;  // Of each side, where there are three.
constexpr size_t kMaxLayers = 2048;
constexpr unsigned kNotHere =
    CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING | CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;

using Arrays = HandleTable<CUarray, const Array>;
using MipmappedArrays = HandleTable<CUmipmappedArray, const MipmappedArray>;

Arrays& TheArrays() {
  static auto* const table = new Arrays();
  return *table;
}

MipmappedArrays& TheMipmappedArrays() {
  static auto* const table = new MipmappedArrays();
  return *table;
}

// Memory that went with its context is in the map no more, or there is another's in its place.
bool Lives(const RangePtr& range) {
  return AddressMap::Get().Find(reinterpret_cast<CUdeviceptr>(range->base)) == range;
}

CUresult CheckShape(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  if (d.Width == 0 || d.Width > kMaxWidth || d.Height > kMaxHeight) return CUDA_ERROR_INVALID_VALUE;
  const bool layered = (d.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  if ((d.Flags & CUDA_ARRAY3D_CUBEMAP) != 0) {
    const bool faces = layered ? d.Depth % 6 == 0 : d.Depth == 6;
    if (d.Width != d.Height || d.Depth == 0 || !faces) return CUDA_ERROR_INVALID_VALUE;
  } else if (layered) {
    if (d.Depth == 0) return CUDA_ERROR_INVALID_VALUE;
  } else if (d.Depth != 0) {
    const size_t longest = std::max({d.Width, d.Height, d.Depth});
    return d.Height != 0 && longest <= kMaxVolume ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  return d.Depth <= kMaxLayers ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult Check(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  if (d.NumChannels != 1 && d.NumChannels != 2 && d.NumChannels != 4) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (ChannelBytes(d.Format) == 0 || (d.Flags & kNotHere) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  return CheckShape(d);
}

// Layers stay as many as they are.
CUDA_ARRAY3D_DESCRIPTOR OfLevel(CUDA_ARRAY3D_DESCRIPTOR d, unsigned level) {
  const auto halved = [level](size_t length) {
    return length != 0 ? std::max<size_t>(length >> level, 1) : 0;
  };
  d.Width = halved(d.Width);
  d.Height = halved(d.Height);
  if ((d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) == 0) d.Depth = halved(d.Depth);
  return d;
}

unsigned MostLevels(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  const bool deep = (d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) == 0;
  return static_cast<unsigned>(std::bit_width(std::max({d.Width, d.Height, deep ? d.Depth : 0})));
}

}  // namespace

uint32_t ChannelBytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4;
    default:
      return 0;
  }
}

CUresult CreateArray(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& descriptor, CUarray* handle) {
  if (const CUresult r = Check(descriptor); r != CUDA_SUCCESS) return r;
  auto made = std::make_shared<Array>();
  made->descriptor = descriptor;
  if (const CUresult r = AllocateArray(context, made->bytes(), &made->range); r != CUDA_SUCCESS) {
    return r;
  }
  made->data = made->range->base;
  *handle = TheArrays().Insert(std::move(made));
  return CUDA_SUCCESS;
}

CUresult CreateMipmappedArray(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& descriptor,
                              unsigned levels, CUmipmappedArray* handle) {
  if (const CUresult r = Check(descriptor); r != CUDA_SUCCESS) return r;
  std::vector<std::shared_ptr<Array>> made;
  std::vector<size_t> offsets;
  size_t bytes = 0;
  for (unsigned i = 0; i < std::clamp(levels, 1u, MostLevels(descriptor)); ++i) {
    auto level = std::make_shared<Array>();
    level->descriptor = OfLevel(descriptor, i);
    level->is_level = true;
    offsets.push_back(bytes);
    bytes += level->bytes();
    made.push_back(std::move(level));
  }
  auto whole = std::make_shared<MipmappedArray>();
  if (const CUresult r = AllocateArray(context, bytes, &whole->range); r != CUDA_SUCCESS) return r;
  for (size_t i = 0; i < made.size(); ++i) {
    made[i]->range = whole->range;
    made[i]->data = whole->range->base + offsets[i];
    whole->levels.push_back(TheArrays().Insert(std::move(made[i])));
  }
  *handle = TheMipmappedArrays().Insert(std::move(whole));
  return CUDA_SUCCESS;
}

ArrayPtr FindArray(CUarray handle) {
  ArrayPtr found = TheArrays().Find(handle);
  if (!found || Lives(found->range)) return found;
  ForgetArray(handle);
  return TheArrays().Find(handle);  // In vain: it is stale now.
}

MipmappedArrayPtr FindMipmappedArray(CUmipmappedArray handle) {
  MipmappedArrayPtr found = TheMipmappedArrays().Find(handle);
  if (!found || Lives(found->range)) return found;
  ForgetMipmappedArray(handle);
  return TheMipmappedArrays().Find(handle);
}

ArrayPtr FindArrayAt(const void* address, CUarray* handle) {
  const RangePtr range = AddressMap::Get().Find(reinterpret_cast<CUdeviceptr>(address));
  if (!range || range->kind != RangeKind::kArray) return nullptr;
  for (const auto& [candidate, array] : TheArrays().All()) {
    const auto* const at = static_cast<const char*>(address);
    if (array->range != range || at < array->data || at >= array->data + array->bytes()) continue;
    *handle = candidate;
    return array;
  }
  return nullptr;
}

void ForgetArray(CUarray handle) { TheArrays().RemoveQuietly(handle); }

void ForgetMipmappedArray(CUmipmappedArray handle) {
  const MipmappedArrayPtr removed = TheMipmappedArrays().RemoveQuietly(handle);
  if (!removed) return;
  for (const CUarray level : removed->levels) ForgetArray(level);
}

}  // namespace simcuda::memory
