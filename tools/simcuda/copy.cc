#include "tools/simcuda/copy.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "tools/simcuda/context.h"
#include "tools/simcuda/memory/address_map.h"
#include "tools/simcuda/memory/arrays.h"
#include "tools/simcuda/memory/reach.h"

namespace simcuda {
namespace {

using memory::AddressMap;
using memory::RangePtr;

// Pageable sources up to this size are read before the call returns, as the real driver does.
constexpr size_t kStagedBytes = size_t{64} << 10;

CUdeviceptr Address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// From the first to the last byte of one side.
size_t Extent(const CopyShape& shape, size_t pitch, size_t slice) {
  return (shape.depth - 1) * slice + (shape.height - 1) * pitch + shape.width;
}
size_t SrcExtent(const CopyShape& s) { return Extent(s, s.src_pitch, s.src_slice); }
size_t DstExtent(const CopyShape& s) { return Extent(s, s.dst_pitch, s.dst_slice); }

bool Empty(const CopyShape& shape) {
  return shape.width == 0 || shape.height == 0 || shape.depth == 0;
}

CUresult CheckSide(const void* address, size_t extent, Side side) {
  const RangePtr range = AddressMap::Get().Find(Address(address));
  if (!range) return side == Side::kAny ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  return range->Contains(Address(address), extent) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

std::vector<char> Stage(const CopyShape& shape, CopyShape* packed) {
  std::vector<char> bytes(shape.width * shape.height * shape.depth);
  char* out = bytes.data();
  for (size_t z = 0; z < shape.depth; ++z) {
    for (size_t y = 0; y < shape.height; ++y, out += shape.width) {
      memcpy(out, static_cast<const char*>(shape.src) + z * shape.src_slice + y * shape.src_pitch,
             shape.width);
    }
  }
  *packed = shape;
  packed->src = nullptr;
  packed->src_pitch = shape.width;
  packed->src_slice = shape.width * shape.height;
  return bytes;
}

// One side of a 2D or 3D copy: the address of its first byte, and what may stand there.
struct SideParams {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  CUarray array;
  size_t x, y, z;
  size_t pitch, height;
};

bool Within(size_t first, size_t count, size_t length) {
  return first <= length && count <= length - first;
}

CUresult PlaceInArray(const SideParams& params, const CopyShape& shape, const char** first,
                      size_t* pitch, size_t* slice) {
  const memory::ArrayPtr array = memory::FindArray(params.array);
  if (!array || params.x % array->element_bytes() != 0 ||
      shape.width % array->element_bytes() != 0 ||
      !Within(params.x, shape.width, array->row_bytes()) ||
      !Within(params.y, shape.height, array->rows()) ||
      !Within(params.z, shape.depth, array->planes())) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pitch = array->row_bytes();
  *slice = array->plane_bytes();
  *first = array->data + params.z * *slice + params.y * *pitch + params.x;
  return CUDA_SUCCESS;
}

CUresult PlaceSide(const SideParams& params, const CopyShape& shape, const char** first, Side* side,
                   size_t* pitch, size_t* slice) {
  const char* base;
  switch (params.type) {
    case CU_MEMORYTYPE_HOST:
      base = static_cast<const char*>(params.host);
      *side = Side::kAny;
      break;
    case CU_MEMORYTYPE_DEVICE:
      base = reinterpret_cast<const char*>(params.device);
      *side = Side::kKnown;
      break;
    case CU_MEMORYTYPE_UNIFIED:
      base = reinterpret_cast<const char*>(params.device);
      *side = Side::kAny;
      break;
    case CU_MEMORYTYPE_ARRAY:
      *side = Side::kKnown;
      return PlaceInArray(params, shape, first, pitch, slice);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  *pitch = params.pitch != 0 ? params.pitch : params.x + shape.width;
  const size_t rows = params.height != 0 ? params.height : params.y + shape.height;
  if (*pitch < params.x + shape.width || rows < params.y + shape.height) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // Anything may be named: what lies beyond all addresses is no memory.
  size_t begin = 0, row = 0, address = 0;
  if (__builtin_mul_overflow(*pitch, rows, slice) ||
      __builtin_mul_overflow(params.z, *slice, &begin) ||
      __builtin_mul_overflow(params.y, *pitch, &row) ||
      __builtin_add_overflow(begin, row, &begin) ||
      __builtin_add_overflow(begin, params.x, &begin) ||
      __builtin_add_overflow(reinterpret_cast<uintptr_t>(base), begin, &address)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *first = reinterpret_cast<const char*>(address);
  return CUDA_SUCCESS;
}

CUresult PlaceCopy(const SideParams& src, const SideParams& dst, Copy* copy) {
  const char* src_first;
  const char* dst_first;
  CopyShape& shape = copy->shape;
  if (Empty(shape)) return CUDA_SUCCESS;
  CUresult r = PlaceSide(src, shape, &src_first, &copy->src, &shape.src_pitch, &shape.src_slice);
  if (r != CUDA_SUCCESS) return r;
  r = PlaceSide(dst, shape, &dst_first, &copy->dst, &shape.dst_pitch, &shape.dst_slice);
  if (r != CUDA_SUCCESS) return r;
  shape.src = src_first;
  shape.dst = const_cast<char*>(dst_first);
  return CUDA_SUCCESS;
}

// In a batch lengths are elements of the array, or bytes where there is none.
CUresult UnitOf(const CUDA_MEMCPY3D_BATCH_OP& op, size_t* unit) {
  size_t units[2] = {0, 0};
  for (const CUmemcpy3DOperand* operand : {&op.src, &op.dst}) {
    if (operand->type == CU_MEMCPY_OPERAND_TYPE_POINTER) continue;
    const memory::ArrayPtr array = operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY
                                       ? memory::FindArray(operand->op.array.array)
                                       : nullptr;
    if (!array) return CUDA_ERROR_INVALID_VALUE;
    units[operand == &op.dst] = array->element_bytes();
  }
  if (units[0] != 0 && units[1] != 0 && units[0] != units[1]) return CUDA_ERROR_INVALID_VALUE;
  *unit = std::max({units[0], units[1], size_t{1}});
  return CUDA_SUCCESS;
}

SideParams SideOf(const CUmemcpy3DOperand& operand, size_t unit) {
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
    const auto& a = operand.op.array;
    return {CU_MEMORYTYPE_ARRAY, nullptr,    0, a.array, a.offset.x * unit,
            a.offset.y,          a.offset.z, 0, 0};
  }
  const auto& p = operand.op.ptr;
  return {CU_MEMORYTYPE_UNIFIED, nullptr,      p.ptr, nullptr, 0, 0, 0,
          p.rowLength * unit,    p.layerHeight};
}

}  // namespace

Copy LinearCopy(const void* src, Side src_side, void* dst, Side dst_side, size_t bytes) {
  Copy copy;
  copy.shape.src = src;
  copy.shape.dst = dst;
  copy.shape.width = bytes;
  copy.src = src_side;
  copy.dst = dst_side;
  return copy;
}

CUresult PartOfArray(CUarray handle, size_t offset, size_t bytes, char** first) {
  const memory::ArrayPtr array = memory::FindArray(handle);
  if (!array || array->rows() != 1 || array->planes() != 1 ||
      !Within(offset, bytes, array->bytes())) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *first = array->data + offset;
  return CUDA_SUCCESS;
}

CUresult CopyFrom2D(const CUDA_MEMCPY2D& p, Copy* copy) {
  *copy = {};
  copy->shape.width = p.WidthInBytes;
  copy->shape.height = p.Height;
  return PlaceCopy({p.srcMemoryType, p.srcHost, p.srcDevice, p.srcArray, p.srcXInBytes, p.srcY, 0,
                    p.srcPitch, 0},
                   {p.dstMemoryType, p.dstHost, p.dstDevice, p.dstArray, p.dstXInBytes, p.dstY, 0,
                    p.dstPitch, 0},
                   copy);
}

CUresult CopyFrom3D(const CUDA_MEMCPY3D& p, Copy* copy) {
  *copy = {};
  copy->shape.width = p.WidthInBytes;
  copy->shape.height = p.Height;
  copy->shape.depth = p.Depth;
  return PlaceCopy({p.srcMemoryType, p.srcHost, p.srcDevice, p.srcArray, p.srcXInBytes, p.srcY,
                    p.srcZ, p.srcPitch, p.srcHeight},
                   {p.dstMemoryType, p.dstHost, p.dstDevice, p.dstArray, p.dstXInBytes, p.dstY,
                    p.dstZ, p.dstPitch, p.dstHeight},
                   copy);
}

CUresult CopyFrom3DPeer(const CUDA_MEMCPY3D_PEER& p, Copy* copy) {
  *copy = {};
  copy->peer = true;
  copy->shape.width = p.WidthInBytes;
  copy->shape.height = p.Height;
  copy->shape.depth = p.Depth;
  return PlaceCopy({p.srcMemoryType, p.srcHost, p.srcDevice, p.srcArray, p.srcXInBytes, p.srcY,
                    p.srcZ, p.srcPitch, p.srcHeight},
                   {p.dstMemoryType, p.dstHost, p.dstDevice, p.dstArray, p.dstXInBytes, p.dstY,
                    p.dstZ, p.dstPitch, p.dstHeight},
                   copy);
}

CUresult CopyFrom3DBatch(const CUDA_MEMCPY3D_BATCH_OP& op, Copy* copy) {
  *copy = {};
  if (op.srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_INVALID ||
      op.srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  size_t unit = 1;
  if (const CUresult r = UnitOf(op, &unit); r != CUDA_SUCCESS) return r;
  copy->shape.width = op.extent.width * unit;
  copy->shape.height = op.extent.height;
  copy->shape.depth = op.extent.depth;
  if (Empty(copy->shape)) return CUDA_ERROR_INVALID_VALUE;
  return PlaceCopy(SideOf(op.src, unit), SideOf(op.dst, unit), copy);
}

CUresult CheckMapped(const void* address, size_t extent, const Context* by) {
  return memory::CheckCopyReach(by, Address(address), extent);
}

CUresult CheckCopy(const Copy& copy, const Context* maker) {
  const Context* const by = copy.peer ? nullptr : maker;
  const CopyShape& shape = copy.shape;
  if (Empty(shape)) return CUDA_SUCCESS;
  if (shape.src == nullptr || shape.dst == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUresult r = CheckSide(shape.src, SrcExtent(shape), copy.src);
  if (r == CUDA_SUCCESS) r = CheckSide(shape.dst, DstExtent(shape), copy.dst);
  if (r == CUDA_SUCCESS && maker != nullptr) {
    memory::CrashAsTheDriver(maker, Address(shape.src), SrcExtent(shape), Address(shape.dst));
    memory::CrashAsTheDriver(maker, Address(shape.dst), DstExtent(shape), Address(shape.src));
  }
  if (r == CUDA_SUCCESS) r = CheckMapped(shape.src, SrcExtent(shape), by);
  return r != CUDA_SUCCESS ? r : CheckMapped(shape.dst, DstExtent(shape), by);
}

CUresult CheckFill(const FillShape& shape) {
  if (shape.width == 0 || shape.height == 0) return CUDA_SUCCESS;
  const size_t row = shape.width * shape.element_size;
  const CUdeviceptr address = Address(shape.dst);
  if (address % shape.element_size != 0) return CUDA_ERROR_INVALID_VALUE;
  if (shape.height > 1 && (shape.pitch < row || shape.pitch % shape.element_size != 0)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CheckSide(shape.dst, (shape.height - 1) * shape.pitch + row, Side::kKnown);
}

CUresult SubmitCopy(Stream& stream, const Copy& copy, bool synchronous) {
  if (const CUresult r = CheckCopy(copy, stream.context().get()); r != CUDA_SUCCESS) return r;
  const CopyShape& shape = copy.shape;
  if (Empty(shape)) return CUDA_SUCCESS;
  if (stream.capturing()) return stream.Submit(std::make_shared<MemcpyOp>(shape));

  const RangePtr src = AddressMap::Get().Find(Address(shape.src));
  const RangePtr dst = AddressMap::Get().Find(Address(shape.dst));
  const bool stage = !src && dst && shape.width * shape.height * shape.depth <= kStagedBytes;
  OpPtr op;
  if (stage) {
    CopyShape packed;
    std::vector<char> bytes = Stage(shape, &packed);
    op = std::make_shared<MemcpyOp>(packed, std::move(bytes));
  } else {
    op = std::make_shared<MemcpyOp>(shape);
  }
  const bool pageable = (!src && !stage) || !dst;
  const bool page_locked = (src && src->host()) || (dst && dst->host());
  Ticket ticket;
  const CUresult r = stream.Submit(std::move(op), &ticket);
  if (r != CUDA_SUCCESS || !(pageable || (synchronous && page_locked))) return r;
  ticket.Wait();
  return stream.context()->error();
}

CUresult SubmitFill(Stream& stream, const FillShape& shape, bool synchronous) {
  if (const CUresult r = CheckFill(shape); r != CUDA_SUCCESS) return r;
  if (shape.width == 0 || shape.height == 0) return CUDA_SUCCESS;
  if (!stream.capturing()) {
    const size_t extent = (shape.height - 1) * shape.pitch + shape.width * shape.element_size;
    const CUresult r = CheckMapped(shape.dst, extent, stream.context().get());
    if (r != CUDA_SUCCESS) return r;
    if (!memory::KernelReaches(*stream.context(), Address(shape.dst))) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  Ticket ticket;
  const CUresult r = stream.Submit(std::make_shared<MemsetOp>(shape), &ticket);
  // Only fills of page-locked memory are synchronous with the host.
  const RangePtr range = AddressMap::Get().Find(Address(shape.dst));
  if (r != CUDA_SUCCESS || !synchronous || !range || !range->host()) return r;
  ticket.Wait();
  return stream.context()->error();
}

}  // namespace simcuda
