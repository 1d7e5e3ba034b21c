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
constexpr uint32_t kMaxPixels = 1024;

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

bool GoodDimensions(const abi::TensorMap& map, const cuuint32_t* steps) {
  for (uint32_t i = 0; i < map.rank; ++i) {
    if (map.lengths[i] == 0 || map.lengths[i] > kMaxLength) return false;
    // That of the first dimension is ignored.
    if (i != 0 && (steps[i] == 0 || steps[i] > kMaxStep)) return false;
  }
  for (uint32_t i = 0; i + 1 < map.rank; ++i) {
    if (map.strides[i] % kAddressAlignment != 0 || map.strides[i] >= kMaxStride) return false;
  }
  return true;
}

bool FitsInside(uint32_t inside, CUtensorMapSwizzle swizzle) {
  const uint32_t most = MostBytesInside(swizzle);
  return inside % kAddressAlignment == 0 && (most == 0 || inside <= most);
}

bool GoodBox(const abi::TensorMap& map, CUtensorMapSwizzle swizzle) {
  for (uint32_t i = 0; i < map.rank; ++i) {
    if (map.box[i] == 0 || map.box[i] > kMaxBox) return false;
  }
  return FitsInside(map.box[0] * map.element_bytes, swizzle);
}

// What all kinds of maps are given.
struct Tensor {
  CUtensorMapDataType type;
  cuuint32_t rank;
  void* address;
  const cuuint64_t* lengths;
  const cuuint64_t* strides;
  const cuuint32_t* steps;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion promotion;
  CUtensorMapFloatOOBfill fill;
};

CUresult Encode(const CUtensorMap* map, const Tensor& t, abi::TensorMap* made) {
  if (!Supported()) return CUDA_ERROR_NOT_SUPPORTED;
  if (!Aligned(map, kMapAlignment) || !Aligned(t.address, kAddressAlignment) || t.rank == 0 ||
      t.rank > abi::TensorMap::kMaxRank || t.lengths == nullptr || t.steps == nullptr ||
      (t.strides == nullptr && t.rank > 1) || t.type > CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B ||
      t.interleave > CU_TENSOR_MAP_INTERLEAVE_32B ||
      t.swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B ||
      t.promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B ||
      t.fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (ElementBytes(t.type) == 0 || t.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  *made = {};
  made->Point(t.address);
  made->rank = t.rank;
  made->element_bytes = ElementBytes(t.type);
  std::memcpy(made->lengths, t.lengths, t.rank * sizeof(*t.lengths));
  if (t.rank > 1) std::memcpy(made->strides, t.strides, (t.rank - 1) * sizeof(*t.strides));
  made->settings = static_cast<uint32_t>(t.type) | static_cast<uint32_t>(t.swizzle) << 8 |
                   static_cast<uint32_t>(t.promotion) << 16 | static_cast<uint32_t>(t.fill) << 24;
  return GoodDimensions(*made, t.steps) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void Give(const abi::TensorMap& made, CUtensorMap* map) {
  std::memset(map, 0, sizeof(*map));
  std::memcpy(map, &made, sizeof(made));
}

// Offsets of the box of pixels: of {D, H, W}, as many as there are dimensions but N and C.
bool GoodCorners(const int* lower, const int* upper, uint32_t rank) {
  const int limit = rank == 3 ? 1 << 15 : rank == 4 ? 1 << 7 : 1 << 4;
  for (uint32_t i = 0; i + 2 < rank; ++i) {
    for (const int offset : {lower[i], upper[i]}) {
      if (offset < -limit || offset >= limit) return false;
    }
  }
  return true;
}

CUresult EncodePixels(CUtensorMap* map, const Tensor& t, cuuint32_t channels, cuuint32_t pixels) {
  abi::TensorMap made;
  if (const CUresult r = Encode(map, t, &made); r != CUDA_SUCCESS) return r;
  if (channels == 0 || channels > kMaxBox || pixels == 0 || pixels > kMaxPixels ||
      !FitsInside(channels * made.element_bytes, t.swizzle)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  made.box[0] = channels;
  made.box[1] = pixels;
  Give(made, map);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult TensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                              void* address, const cuuint64_t* lengths, const cuuint64_t* strides,
                              const cuuint32_t* box, const cuuint32_t* steps,
                              CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                              CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  const Tensor t = {type,  rank,       address, lengths,   strides,
                    steps, interleave, swizzle, promotion, fill};
  abi::TensorMap made;
  if (const CUresult r = Encode(map, t, &made); r != CUDA_SUCCESS) return r;
  if (box == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(made.box, box, rank * sizeof(*box));
  if (!GoodBox(made, swizzle)) return CUDA_ERROR_INVALID_VALUE;
  Give(made, map);
  return CUDA_SUCCESS;
}

CUresult TensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                               void* address, const cuuint64_t* lengths, const cuuint64_t* strides,
                               const int* lower, const int* upper, cuuint32_t channels,
                               cuuint32_t pixels, const cuuint32_t* steps,
                               CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                               CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  if (!Supported()) return CUDA_ERROR_NOT_SUPPORTED;
  if (rank < 3 || rank > abi::TensorMap::kMaxRank || lower == nullptr || upper == nullptr ||
      !GoodCorners(lower, upper, rank)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const Tensor t = {type,  rank,       address, lengths,   strides,
                    steps, interleave, swizzle, promotion, fill};
  return EncodePixels(map, t, channels, pixels);
}

CUresult TensorMapEncodeIm2colWide(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                   void* address, const cuuint64_t* lengths,
                                   const cuuint64_t* strides, int lower, int upper,
                                   cuuint32_t channels, cuuint32_t pixels, const cuuint32_t* steps,
                                   CUtensorMapInterleave interleave, CUtensorMapIm2ColWideMode mode,
                                   CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                   CUtensorMapFloatOOBfill fill) {
  if (Driver::Get().config().compute_capability_major < 10) return CUDA_ERROR_NOT_SUPPORTED;
  const bool swizzled = swizzle == CU_TENSOR_MAP_SWIZZLE_64B ||
                        swizzle == CU_TENSOR_MAP_SWIZZLE_128B ||
                        swizzle == CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B;
  if (rank < 3 || rank > abi::TensorMap::kMaxRank || !swizzled ||
      mode > CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128 || !GoodCorners(&lower, &upper, 3)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const Tensor t = {type,  rank,       address, lengths,   strides,
                    steps, interleave, swizzle, promotion, fill};
  return EncodePixels(map, t, channels, pixels);
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
