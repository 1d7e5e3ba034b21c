// Tensor maps: values that the program keeps and passes to kernels. What they must be like follows
// the documentation. The memory is not looked up.

#include <cstring>

#include "tools/simcuda/calls_object.h"
#include "tools/simcuda/driver.h"
#include "tools/simcuda/object_abi.h"

namespace simcuda::calls {
namespace {

constexpr uint64_t kAddressAlignment = 16;
constexpr uint64_t kMapAlignment = 64;
constexpr uint64_t kMaxLength = uint64_t{1} << 32;
constexpr uint64_t kMaxStride = uint64_t{1} << 40;
constexpr uint32_t kMaxBox = 256;
constexpr uint32_t kMaxStep = 8;

// 0 for packed ones.
uint32_t ElementBytes(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
      return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return 8;
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ:
      return 4;
    default:
      return 0;
  }
}

// 0: any.
uint32_t MostBytesInside(CUtensorMapSwizzle swizzle) {
  switch (swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_NONE:
      return 0;
    case CU_TENSOR_MAP_SWIZZLE_32B:
      return 32;
    case CU_TENSOR_MAP_SWIZZLE_64B:
      return 64;
    default:
      return 128;
  }
}

bool Supported() { return Driver::Get().config().compute_capability_major >= 9; }

bool Aligned(const void* pointer, uint64_t alignment) {
  return pointer != nullptr && reinterpret_cast<uintptr_t>(pointer) % alignment == 0;
}

bool GoodDimensions(const abi::TensorMap& map, const cuuint32_t* steps,
                    CUtensorMapSwizzle swizzle) {
  for (uint32_t i = 0; i < map.rank; ++i) {
    if (map.lengths[i] == 0 || map.lengths[i] > kMaxLength) return false;
    if (map.box[i] == 0 || map.box[i] > kMaxBox) return false;
    // That of the first dimension is ignored.
    if (i != 0 && (steps[i] == 0 || steps[i] > kMaxStep)) return false;
  }
  for (uint32_t i = 0; i + 1 < map.rank; ++i) {
    if (map.strides[i] % kAddressAlignment != 0 || map.strides[i] >= kMaxStride) return false;
  }
  const uint32_t inside = map.box[0] * map.element_bytes;
  const uint32_t most = MostBytesInside(swizzle);
  return inside % kAddressAlignment == 0 && (most == 0 || inside <= most);
}

}  // namespace

CUresult TensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                              void* address, const cuuint64_t* lengths, const cuuint64_t* strides,
                              const cuuint32_t* box, const cuuint32_t* steps,
                              CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                              CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  if (!Supported()) return CUDA_ERROR_NOT_SUPPORTED;
  if (!Aligned(map, kMapAlignment) || !Aligned(address, kAddressAlignment) || rank == 0 ||
      rank > abi::TensorMap::kMaxRank || lengths == nullptr || box == nullptr || steps == nullptr ||
      (strides == nullptr && rank > 1) || type > CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B ||
      interleave > CU_TENSOR_MAP_INTERLEAVE_32B || swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B ||
      promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B ||
      fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (ElementBytes(type) == 0 || interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  abi::TensorMap made = {};
  made.Point(address);
  made.rank = rank;
  made.element_bytes = ElementBytes(type);
  std::memcpy(made.lengths, lengths, rank * sizeof(*lengths));
  std::memcpy(made.box, box, rank * sizeof(*box));
  if (rank > 1) std::memcpy(made.strides, strides, (rank - 1) * sizeof(*strides));
  made.settings = static_cast<uint32_t>(type) | static_cast<uint32_t>(swizzle) << 8 |
                  static_cast<uint32_t>(promotion) << 16 | static_cast<uint32_t>(fill) << 24;
  if (!GoodDimensions(made, steps, swizzle)) return CUDA_ERROR_INVALID_VALUE;
  std::memset(map, 0, sizeof(*map));
  std::memcpy(map, &made, sizeof(made));
  return CUDA_SUCCESS;
}

CUresult TensorMapReplaceAddress(CUtensorMap* map, void* address) {
  if (!Supported()) return CUDA_ERROR_NOT_SUPPORTED;
  if (!Aligned(map, kMapAlignment) || !Aligned(address, kAddressAlignment)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  abi::TensorMap made;
  std::memcpy(&made, map, sizeof(made));
  made.Point(address);
  std::memcpy(map, &made, sizeof(made));
  return CUDA_SUCCESS;
}

}  // namespace simcuda::calls
