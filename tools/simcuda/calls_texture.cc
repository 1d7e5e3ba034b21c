// Texture objects. What they must be like follows the documentation, limits are an H100's.

#include <algorithm>
#include <memory>

#include "tools/simcuda/calls_object.h"
#include "tools/simcuda/handle_table.h"
#include "tools/simcuda/memory/address_map.h"
#include "tools/simcuda/memory/arrays.h"
#include "tools/simcuda/memory/vmm.h"
#include "tools/simcuda/object_abi.h"

namespace simcuda::calls {
namespace {

using memory::AddressMap;
using memory::ChannelBytes;
using memory::RangeKind;
using memory::RangePtr;
using memory::Vmm;

constexpr uint64_t kAlignment = 512;
constexpr uint64_t kPitchAlignment = 32;
constexpr uint64_t kMaxLinear = uint64_t{1} << 28;  // texels
constexpr uint64_t kMaxWidth = 131072;
constexpr uint64_t kMaxHeight = 65000;
constexpr uint64_t kMaxPitch = 2097120;

struct TextureObject {
  CUDA_RESOURCE_DESC resource;
  CUDA_TEXTURE_DESC texture;
  abi::Texture* shown;  // To kernels; never freed, as a handle is never used again.
};
using Table = HandleTable<CUtexObject, TextureObject>;

Table& Textures() {
  static Table* const table = new Table();
  return *table;
}

// Whether texels are read as they lie in memory.
bool ReadAsTheyAre(const CUDA_TEXTURE_DESC& texture, CUarray_format format, bool linear) {
  if ((texture.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0) return false;
  if (!linear && texture.filterMode != CU_TR_FILTER_MODE_POINT) return false;
  const bool fraction = ChannelBytes(format) < 4 && format != CU_AD_FORMAT_HALF;
  if (fraction && (texture.flags & CU_TRSF_READ_AS_INTEGER) == 0) return false;
  return format != CU_AD_FORMAT_HALF && (texture.flags & CU_TRSF_SRGB) == 0;
}

// The driver looks the memory up when the object is made.
bool Reachable(CUdeviceptr address, uint64_t bytes) {
  const RangePtr range = AddressMap::Get().Find(address);
  if (!range || !range->Contains(address, bytes)) return false;
  return range->kind != RangeKind::kReservation || Vmm::Get().Accessible(address, bytes);
}

CUresult Show(const CUDA_RESOURCE_DESC& resource, const CUDA_TEXTURE_DESC& texture,
              abi::Texture* shown) {
  const bool linear = resource.resType == CU_RESOURCE_TYPE_LINEAR;
  if (!linear && resource.resType != CU_RESOURCE_TYPE_PITCH2D) return CUDA_ERROR_NOT_SUPPORTED;
  const auto& l = resource.res.linear;
  const auto& p = resource.res.pitch2D;
  const CUarray_format format = linear ? l.format : p.format;
  const unsigned channels = linear ? l.numChannels : p.numChannels;
  const CUdeviceptr address = linear ? l.devPtr : p.devPtr;
  if (channels != 1 && channels != 2 && channels != 4) return CUDA_ERROR_INVALID_VALUE;
  if (ChannelBytes(format) == 0 || !ReadAsTheyAre(texture, format, linear)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (address == 0 || address % kAlignment != 0) return CUDA_ERROR_INVALID_VALUE;
  const uint32_t texel = ChannelBytes(format) * channels;
  *shown = {reinterpret_cast<const char*>(address), l.sizeInBytes / texel, 1, 0, texel};
  uint64_t bytes = l.sizeInBytes;
  if (linear) {
    if (shown->width == 0 || shown->width > kMaxLinear) return CUDA_ERROR_INVALID_VALUE;
  } else {
    if (p.width == 0 || p.width > kMaxWidth || p.height == 0 || p.height > kMaxHeight ||
        p.pitchInBytes % kPitchAlignment != 0 || p.pitchInBytes > kMaxPitch ||
        p.pitchInBytes < p.width * texel) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *shown = {shown->data, p.width, p.height, p.pitchInBytes, texel};
    bytes = (p.height - 1) * p.pitchInBytes + p.width * texel;
  }
  return Reachable(address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult TexObjectCreate(CUtexObject* object, const CUDA_RESOURCE_DESC* resource,
                         const CUDA_TEXTURE_DESC* texture, const CUDA_RESOURCE_VIEW_DESC* view) {
  if (object == nullptr || resource == nullptr || texture == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // A view is of arrays only.
  if (resource->flags != 0 || view != nullptr) return CUDA_ERROR_INVALID_VALUE;
  abi::Texture shown = {};
  if (const CUresult r = Show(*resource, *texture, &shown); r != CUDA_SUCCESS) return r;
  auto made = std::make_shared<TextureObject>();
  made->resource = *resource;
  made->texture = *texture;
  made->shown = new abi::Texture(shown);
  *object = reinterpret_cast<CUtexObject>(made->shown);
  Textures().InsertAs(*object, std::move(made));
  return CUDA_SUCCESS;
}

CUresult TexObjectDestroy(CUtexObject object) {
  const auto removed = Textures().Remove(object);
  if (!removed) return CUDA_ERROR_INVALID_VALUE;
  removed->shown->data = nullptr;
  return CUDA_SUCCESS;
}

CUresult TexObjectGetResourceDesc(CUDA_RESOURCE_DESC* resource, CUtexObject object) {
  const auto found = Textures().Find(object);
  if (!found || resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *resource = found->resource;
  return CUDA_SUCCESS;
}

CUresult TexObjectGetTextureDesc(CUDA_TEXTURE_DESC* texture, CUtexObject object) {
  const auto found = Textures().Find(object);
  if (!found || texture == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *texture = found->texture;
  return CUDA_SUCCESS;
}

CUresult TexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC*, CUtexObject object) {
  Textures().Find(object);
  return CUDA_ERROR_INVALID_VALUE;  // None was made with one.
}

}  // namespace simcuda::calls
