#include "runtime/preload/peer_copies.h"

#include <absl/functional/function_ref.h>

#include <cstdint>
#include <optional>

#include "runtime/base/own_calls.h"
#include "runtime/preload/between_devices.h"
#include "runtime/preload/launch.h"
#include "runtime/preload/resolver.h"
#include "runtime/preload/runtimes.h"

namespace vramspan::preload {
namespace {

CUcontext OwnerOf(CUdeviceptr p) {
  if (Runtime* const runtime = RuntimeOf(p)) return runtime->memory().options().context;
  const auto ask = DriverFunction<decltype(&::cuPointerGetAttribute)>("cuPointerGetAttribute");
  CUcontext context = nullptr;
  CUmemorytype type{};
  if (ask == nullptr || ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p) != CUDA_SUCCESS ||
      type != CU_MEMORYTYPE_DEVICE ||
      ask(&context, CU_POINTER_ATTRIBUTE_CONTEXT, p) != CUDA_SUCCESS) {
    return nullptr;
  }
  return context;
}

struct Ends {
  CUcontext to = nullptr, from = nullptr;
  bool ok() const { return to != nullptr && from != nullptr; }
};

// None where it is no copy between devices, or nothing of it is ours: the first answer holds.
Ends EndsOf(CUdeviceptr to, CUdeviceptr from) {
  if (RuntimeOf(to) == nullptr && RuntimeOf(from) == nullptr) return {};
  const OwnCalls own;
  const Ends ends{OwnerOf(to), OwnerOf(from)};
  return ends.to == ends.from && ends.to == CurrentContext() ? Ends() : ends;
}

// The rows as a copy that names the contexts has them; false where they are none between devices.
template <typename Rows>
bool AsPeer(const Rows* rows, CUDA_MEMCPY3D_PEER* peer) {
  if (rows == nullptr) return false;
  const CopyEnds named = ends::OfRows(*rows);
  const Ends owners = EndsOf(named.to, named.from);
  if (!owners.ok()) return false;
  *peer = {};
  peer->dstMemoryType = peer->srcMemoryType = CU_MEMORYTYPE_DEVICE;
  peer->dstContext = owners.to;
  peer->srcContext = owners.from;
  peer->dstDevice = named.to;
  peer->srcDevice = named.from;
  peer->dstXInBytes = rows->dstXInBytes;
  peer->srcXInBytes = rows->srcXInBytes;
  peer->dstY = rows->dstY;
  peer->srcY = rows->srcY;
  peer->dstPitch = rows->dstPitch;
  peer->srcPitch = rows->srcPitch;
  peer->WidthInBytes = rows->WidthInBytes;
  peer->Height = rows->Height;
  peer->Depth = 1;
  if constexpr (requires { rows->Depth; }) {
    peer->dstZ = rows->dstZ;
    peer->srcZ = rows->srcZ;
    peer->dstHeight = rows->dstHeight;
    peer->srcHeight = rows->srcHeight;
    peer->Depth = rows->Depth;
  }
  return true;
}

template <typename Rows>
CUresult CopyRows(bool per_thread, const Rows* rows) {
  const auto copy = DriverFunction<decltype(&::cuMemcpy3DPeer)>(per_thread ? "cuMemcpy3DPeer_ptds"
                                                                           : "cuMemcpy3DPeer");
  CUDA_MEMCPY3D_PEER peer;
  if (copy == nullptr || !AsPeer(rows, &peer)) return CUDA_ERROR_INVALID_VALUE;
  return copy(&peer);
}

template <typename Rows>
CUresult CopyRows(bool per_thread, const Rows* rows, CUstream stream) {
  const auto copy = DriverFunction<decltype(&::cuMemcpy3DPeerAsync)>(
      per_thread ? "cuMemcpy3DPeerAsync_ptsz" : "cuMemcpy3DPeerAsync");
  CUDA_MEMCPY3D_PEER peer;
  if (copy == nullptr || !AsPeer(rows, &peer)) return CUDA_ERROR_INVALID_VALUE;
  return copy(&peer, stream);
}

// Of a batch, what goes from memory to memory in rows; in an array lengths are other units.
std::optional<CUDA_MEMCPY3D> RowsOf(const CUDA_MEMCPY3D_BATCH_OP& op) {
  if (op.dst.type != CU_MEMCPY_OPERAND_TYPE_POINTER ||
      op.src.type != CU_MEMCPY_OPERAND_TYPE_POINTER) {
    return std::nullopt;
  }
  const auto& to = op.dst.op.ptr;
  const auto& from = op.src.op.ptr;
  CUDA_MEMCPY3D rows{};
  rows.dstMemoryType = rows.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  rows.dstDevice = to.ptr;
  rows.srcDevice = from.ptr;
  // Nothing said is as much as is copied.
  rows.dstPitch = to.rowLength != 0 ? to.rowLength : op.extent.width;
  rows.srcPitch = from.rowLength != 0 ? from.rowLength : op.extent.width;
  rows.dstHeight = to.layerHeight != 0 ? to.layerHeight : op.extent.height;
  rows.srcHeight = from.layerHeight != 0 ? from.layerHeight : op.extent.height;
  rows.WidthInBytes = op.extent.width;
  rows.Height = op.extent.height;
  rows.Depth = op.extent.depth;
  return rows;
}

// What else the driver may have refused a batch for: it takes none in the legacy stream.
bool TakesBatches(bool per_thread, CUstream stream) {
  return stream != CU_STREAM_LEGACY && (per_thread || stream != nullptr);
}

CUresult EachOf(size_t count, size_t* failed, absl::FunctionRef<CUresult(size_t)> make) {
  for (size_t i = 0; i < count; ++i) {
    const CUresult result = make(i);
    if (result == CUDA_SUCCESS) continue;
    if (failed != nullptr) *failed = i;
    return result;
  }
  if (failed != nullptr) *failed = SIZE_MAX;
  return CUDA_SUCCESS;
}

}  // namespace

// By the driver's own functions, so that hooks of ours do not tell of the copy twice; CUPTI is to
// see it as any other.
CUresult CopyAsPeer(bool per_thread, CUdeviceptr to, CUdeviceptr from, size_t size) {
  const Ends ends = EndsOf(to, from);
  const auto copy =
      DriverFunction<decltype(&::cuMemcpyPeer)>(per_thread ? "cuMemcpyPeer_ptds" : "cuMemcpyPeer");
  if (!ends.ok() || copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return copy(to, ends.to, from, ends.from, size);
}

CUresult CopyAsPeer(bool per_thread, CUdeviceptr to, CUdeviceptr from, size_t size,
                    CUstream stream) {
  const Ends ends = EndsOf(to, from);
  const auto copy = DriverFunction<decltype(&::cuMemcpyPeerAsync)>(
      per_thread ? "cuMemcpyPeerAsync_ptsz" : "cuMemcpyPeerAsync");
  if (!ends.ok() || copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return copy(to, ends.to, from, ends.from, size, stream);
}

CUresult CopyAsPeer(bool per_thread, const CUDA_MEMCPY2D* rows) {
  return CopyRows(per_thread, rows);
}
CUresult CopyAsPeer(bool per_thread, const CUDA_MEMCPY2D* rows, CUstream stream) {
  return CopyRows(per_thread, rows, stream);
}
CUresult CopyAsPeer(bool per_thread, const CUDA_MEMCPY3D* rows) {
  return CopyRows(per_thread, rows);
}
CUresult CopyAsPeer(bool per_thread, const CUDA_MEMCPY3D* rows, CUstream stream) {
  return CopyRows(per_thread, rows, stream);
}

CUresult CopyAsPeer(bool per_thread, CUdeviceptr* to, CUdeviceptr* from, size_t* sizes,
                    size_t count, CUmemcpyAttributes* attributes, size_t* attribute_firsts,
                    size_t attribute_count, size_t* failed, CUstream stream) {
  const auto copy = DriverFunction<decltype(&::cuMemcpyAsync)>(per_thread ? "cuMemcpyAsync_ptsz"
                                                                          : "cuMemcpyAsync");
  const bool whole = to != nullptr && from != nullptr && sizes != nullptr &&
                     attributes != nullptr && attribute_firsts != nullptr && attribute_count != 0 &&
                     attribute_count <= count && copy != nullptr &&
                     TakesBatches(per_thread, stream);
  bool between = false;
  for (size_t i = 0; whole && !between && i < count; ++i) between = EndsOf(to[i], from[i]).ok();
  if (!between) return CUDA_ERROR_INVALID_VALUE;
  return EachOf(count, failed, [&](size_t i) {
    const CUresult result = CopyAsPeer(per_thread, to[i], from[i], sizes[i], stream);
    return result == CUDA_ERROR_INVALID_VALUE ? copy(to[i], from[i], sizes[i], stream) : result;
  });
}
CUresult CopyAsPeer(bool per_thread, CUdeviceptr* to, CUdeviceptr* from, size_t* sizes,
                    size_t count, CUmemcpyAttributes* attributes, size_t* attribute_firsts,
                    size_t attribute_count, CUstream stream) {
  return CopyAsPeer(per_thread, to, from, sizes, count, attributes, attribute_firsts,
                    attribute_count, nullptr, stream);
}

CUresult CopyAsPeer(bool per_thread, size_t count, CUDA_MEMCPY3D_BATCH_OP* copies, size_t* failed,
                    unsigned long long flags, CUstream stream) {
  if (copies == nullptr || flags != 0 || !TakesBatches(per_thread, stream)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  bool between = false;
  for (size_t i = 0; !between && i < count; ++i) {
    between = EndsOf(ends::OfOperand(copies[i].dst), ends::OfOperand(copies[i].src)).ok();
  }
  if (!between) return CUDA_ERROR_INVALID_VALUE;
  const auto newer = DriverFunction<decltype(&::cuMemcpy3DBatchAsync_v2)>(
      per_thread ? "cuMemcpy3DBatchAsync_v2_ptsz" : "cuMemcpy3DBatchAsync_v2");
  const auto older = DriverFunction<decltype(&::cuMemcpy3DBatchAsync)>(
      per_thread ? "cuMemcpy3DBatchAsync_ptsz" : "cuMemcpy3DBatchAsync");
  return EachOf(count, failed, [&](size_t i) {
    const auto rows = RowsOf(copies[i]);
    const CUresult result = rows ? CopyRows(per_thread, &*rows, stream) : CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_ERROR_INVALID_VALUE) return result;
    if (newer != nullptr) return newer(1, &copies[i], flags, stream);
    return older != nullptr ? older(1, &copies[i], nullptr, flags, stream) : result;
  });
}
CUresult CopyAsPeer(bool per_thread, size_t count, CUDA_MEMCPY3D_BATCH_OP* copies,
                    unsigned long long flags, CUstream stream) {
  return CopyAsPeer(per_thread, count, copies, nullptr, flags, stream);
}

}  // namespace vramspan::preload
