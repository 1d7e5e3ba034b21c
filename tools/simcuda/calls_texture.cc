// Texture and surface objects. What they must be like follows the documentation, limits are an
// H100's.

#include <algorithm>
#include <memory>
#include <utility>

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

struct Object {
  CUDA_RESOURCE_DESC resource;
  CUDA_TEXTURE_DESC texture;  // Of textures.
  abi::Texels shown;          // To kernels.
};
using Table = HandleTable<unsigned long long, Object>;

Table& Textures() {
  static Table* const table = new Table();
  return *table;
}

Table& Surfaces() {
  static Table* const table = new Table();
  return *table;
}

// Never freed, as a handle is the address of what kernels see and is never used again.
Table& Destroyed() {
  static Table* const table = new Table();
  return *table;
}

unsigned long long Add(Table& table, const CUDA_RESOURCE_DESC& resource,
                       const CUDA_TEXTURE_DESC& texture, const abi::Texels& shown) {
  auto made = std::make_shared<Object>(Object{resource, texture, shown});
  const auto handle = reinterpret_cast<unsigned long long>(&made->shown);
  table.InsertAs(handle, std::move(made));
  return handle;
}

CUresult Destroy(Table& table, unsigned long long object) {
  auto removed = table.Remove(object);
  if (!removed) return CUDA_ERROR_INVALID_VALUE;
  removed->shown.data = nullptr;
  Destroyed().InsertAs(object, std::move(removed));
  return CUDA_SUCCESS;
}

CUresult GetResource(const Table& table, unsigned long long object, CUDA_RESOURCE_DESC* resource) {
  const auto found = table.Find(object);
  if (!found || resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *resource = found->resource;
  return CUDA_SUCCESS;
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

// What kernels see of an array.
CUresult ShowArray(CUarray handle, abi::Texels* shown, memory::ArrayPtr* array) {
  *array = memory::FindArray(handle);
  if (!*array) return CUDA_ERROR_INVALID_VALUE;
  const memory::Array& a = **array;
  if ((a.descriptor.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  *shown = {a.data,
            a.descriptor.Width,
            a.rows(),
            a.planes(),
            a.row_bytes(),
            a.plane_bytes(),
            static_cast<uint32_t>(a.element_bytes())};
  return CUDA_SUCCESS;
}

CUresult ShowMemory(const CUDA_RESOURCE_DESC& resource, const CUDA_TEXTURE_DESC& texture,
                    abi::Texels* shown) {
  const bool linear = resource.resType == CU_RESOURCE_TYPE_LINEAR;
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
  *shown = {reinterpret_cast<char*>(address), l.sizeInBytes / texel, 1, 1, 0, 0, texel};
  uint64_t bytes = l.sizeInBytes;
  if (linear) {
    if (shown->width == 0 || shown->width > kMaxLinear) return CUDA_ERROR_INVALID_VALUE;
  } else {
    if (p.width == 0 || p.width > kMaxWidth || p.height == 0 || p.height > kMaxHeight ||
        p.pitchInBytes % kPitchAlignment != 0 || p.pitchInBytes > kMaxPitch ||
        p.pitchInBytes < p.width * texel) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *shown = {shown->data, p.width, p.height, 1, p.pitchInBytes, 0, texel};
    bytes = (p.height - 1) * p.pitchInBytes + p.width * texel;
  }
  return Reachable(address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult Show(const CUDA_RESOURCE_DESC& resource, const CUDA_TEXTURE_DESC& texture,
              abi::Texels* shown) {
  switch (resource.resType) {
    case CU_RESOURCE_TYPE_LINEAR:
    case CU_RESOURCE_TYPE_PITCH2D:
      return ShowMemory(resource, texture, shown);
    case CU_RESOURCE_TYPE_ARRAY: {
      memory::ArrayPtr array;
      const CUresult r = ShowArray(resource.res.array.hArray, shown, &array);
      if (r != CUDA_SUCCESS) return r;
      return ReadAsTheyAre(texture, array->descriptor.Format, /*linear=*/false)
                 ? CUDA_SUCCESS
                 : CUDA_ERROR_NOT_SUPPORTED;
    }
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace

CUresult TexObjectCreate(CUtexObject* object, const CUDA_RESOURCE_DESC* resource,
                         const CUDA_TEXTURE_DESC* texture, const CUDA_RESOURCE_VIEW_DESC* view) {
  if (object == nullptr || resource == nullptr || texture == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (resource->flags != 0) return CUDA_ERROR_INVALID_VALUE;
  // A view is of arrays only.
  if (view != nullptr) {
    return resource->resType == CU_RESOURCE_TYPE_ARRAY ? CUDA_ERROR_NOT_SUPPORTED
                                                       : CUDA_ERROR_INVALID_VALUE;
  }
  abi::Texels shown = {};
  if (const CUresult r = Show(*resource, *texture, &shown); r != CUDA_SUCCESS) return r;
  *object = Add(Textures(), *resource, *texture, shown);
  return CUDA_SUCCESS;
}

CUresult TexObjectDestroy(CUtexObject object) { return Destroy(Textures(), object); }

CUresult TexObjectGetResourceDesc(CUDA_RESOURCE_DESC* resource, CUtexObject object) {
  return GetResource(Textures(), object, resource);
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

CUresult SurfObjectCreate(CUsurfObject* object, const CUDA_RESOURCE_DESC* resource) {
  if (object == nullptr || resource == nullptr || resource->flags != 0 ||
      resource->resType != CU_RESOURCE_TYPE_ARRAY) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  abi::Texels shown = {};
  memory::ArrayPtr array;
  const CUresult r = ShowArray(resource->res.array.hArray, &shown, &array);
  if (r != CUDA_SUCCESS) return r;
  if ((array->descriptor.Flags & CUDA_ARRAY3D_SURFACE_LDST) == 0) return CUDA_ERROR_INVALID_VALUE;
  *object = Add(Surfaces(), *resource, {}, shown);
  return CUDA_SUCCESS;
}

CUresult SurfObjectDestroy(CUsurfObject object) { return Destroy(Surfaces(), object); }

CUresult SurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* resource, CUsurfObject object) {
  return GetResource(Surfaces(), object, resource);
}

}  // namespace simcuda::calls
