#include <cudaTypedefs.h>

#include "tests/preload/program_calls.h"

namespace {

constexpr size_t kPart = 4096;

// Two rows of the memory, and two of the marker's.
template <typename Copy>
Copy Rows(const Caller& c) {
  Copy copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = c.marker();
  copy.dstDevice = c.memory();
  copy.srcPitch = copy.dstPitch = 256;
  copy.WidthInBytes = 64;
  copy.Height = 2;
  if constexpr (requires { copy.Depth; }) {
    copy.Depth = 1;
    copy.srcHeight = copy.dstHeight = 2;
  }
  return copy;
}

CUDA_MEMCPY3D_BATCH_OP Box(const Caller& c) {
  CUDA_MEMCPY3D_BATCH_OP op{};
  op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  op.src.op.ptr = {c.marker(), 64, 2, {}};
  op.dst.op.ptr = {c.memory(), 64, 2, {}};
  op.extent = {64, 2, 1};
  op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  return op;
}

void CallLinear(Caller* c, const std::string& now, const std::string& later) {
  const CUdeviceptr m = c->memory(), o = c->marker();
  const CUcontext x = c->p().context;
  const CUstream s = c->stream();
  std::vector<char> host(kPart);
  char* const h = host.data();
#define NOW(base, symbol, told, ...) \
  c->Call(symbol + now, Told::told, [&] { return GET(base, symbol + now)(__VA_ARGS__); })
#define LATER(base, symbol, told, ...) \
  c->Call(symbol + later, Told::told, [&] { return GET(base, symbol + later)(__VA_ARGS__, s); })
  NOW(cuMemcpy, "cuMemcpy", kNamed, m, o, kPart);
  NOW(cuMemcpyPeer, "cuMemcpyPeer", kNamed, m, x, o, x, kPart);
  NOW(cuMemcpyHtoD, "cuMemcpyHtoD_v2", kNamed, m, h, kPart);
  NOW(cuMemcpyDtoH, "cuMemcpyDtoH_v2", kNamed, h, m, kPart);
  NOW(cuMemcpyDtoD, "cuMemcpyDtoD_v2", kNamed, m, o, kPart);
  LATER(cuMemcpyAsync, "cuMemcpyAsync", kNamed, m, o, kPart);
  LATER(cuMemcpyPeerAsync, "cuMemcpyPeerAsync", kNamed, m, x, o, x, kPart);
  LATER(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", kNamed, m, h, kPart);
  LATER(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", kNamed, h, m, kPart);
  LATER(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", kNamed, m, o, kPart);
  NOW(cuMemsetD8, "cuMemsetD8_v2", kNamed, m, 0, kPart);
  NOW(cuMemsetD16, "cuMemsetD16_v2", kNamed, m, 0, kPart);
  NOW(cuMemsetD32, "cuMemsetD32_v2", kNamed, m, 0, kPart);
  NOW(cuMemsetD2D8, "cuMemsetD2D8_v2", kNamed, m, 256, 0, 64, 2);
  NOW(cuMemsetD2D16, "cuMemsetD2D16_v2", kNamed, m, 256, 0, 64, 2);
  NOW(cuMemsetD2D32, "cuMemsetD2D32_v2", kNamed, m, 256, 0, 64, 2);
  LATER(cuMemsetD8Async, "cuMemsetD8Async", kNamed, m, 0, kPart);
  LATER(cuMemsetD16Async, "cuMemsetD16Async", kNamed, m, 0, kPart);
  LATER(cuMemsetD32Async, "cuMemsetD32Async", kNamed, m, 0, kPart);
  LATER(cuMemsetD2D8Async, "cuMemsetD2D8Async", kNamed, m, 256, 0, 64, 2);
  LATER(cuMemsetD2D16Async, "cuMemsetD2D16Async", kNamed, m, 256, 0, 64, 2);
  LATER(cuMemsetD2D32Async, "cuMemsetD2D32Async", kNamed, m, 256, 0, 64, 2);

  // Arrays are no memory of ours.
  CUarray array = nullptr;
  const CUDA_ARRAY_DESCRIPTOR d{2 * kPart, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1};
  CHECK_OK(GET(cuArrayCreate, "cuArrayCreate_v2")(&array, &d));
  const CUarray a = array;
  NOW(cuMemcpyDtoA, "cuMemcpyDtoA_v2", kNamed, a, 0, m, kPart);
  NOW(cuMemcpyAtoD, "cuMemcpyAtoD_v2", kNamed, m, a, 0, kPart);
  NOW(cuMemcpyHtoA, "cuMemcpyHtoA_v2", kOther, a, 0, h, kPart);
  NOW(cuMemcpyAtoH, "cuMemcpyAtoH_v2", kOther, h, a, 0, kPart);
  NOW(cuMemcpyAtoA, "cuMemcpyAtoA_v2", kOther, a, 0, a, kPart, kPart);
  LATER(cuMemcpyHtoAAsync, "cuMemcpyHtoAAsync_v2", kOther, a, 0, h, kPart);
  LATER(cuMemcpyAtoHAsync, "cuMemcpyAtoHAsync_v2", kOther, h, a, 0, kPart);
  CHECK_OK(GET(cuArrayDestroy, "cuArrayDestroy")(array));

  const auto flat = Rows<CUDA_MEMCPY2D>(*c);
  const auto deep = Rows<CUDA_MEMCPY3D>(*c);
  auto peer = Rows<CUDA_MEMCPY3D_PEER>(*c);
  peer.srcContext = peer.dstContext = x;
  NOW(cuMemcpy2D, "cuMemcpy2D_v2", kNamed, &flat);
  NOW(cuMemcpy2DUnaligned, "cuMemcpy2DUnaligned_v2", kNamed, &flat);
  NOW(cuMemcpy3D, "cuMemcpy3D_v2", kNamed, &deep);
  NOW(cuMemcpy3DPeer, "cuMemcpy3DPeer", kNamed, &peer);
  LATER(cuMemcpy2DAsync, "cuMemcpy2DAsync_v2", kNamed, &flat);
  LATER(cuMemcpy3DAsync, "cuMemcpy3DAsync_v2", kNamed, &deep);
  LATER(cuMemcpy3DPeerAsync, "cuMemcpy3DPeerAsync", kNamed, &peer);
#undef NOW
#undef LATER
}

void CallBatches(Caller* c, const std::string& suffix) {
  CUdeviceptr to = c->memory(), from = c->marker();
  const CUstream s = c->stream();
  size_t size = kPart, failed = 0, first = 0;
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  const auto older = Get<PFN_cuMemcpyBatchAsync_v12080>("cuMemcpyBatchAsync" + suffix);
  c->Call("cuMemcpyBatchAsync" + suffix, Told::kNamed,
          [&] { return older(&to, &from, &size, 1, &attributes, &first, 1, &failed, s); });
  const auto newer = Get<PFN_cuMemcpyBatchAsync_v13000>("cuMemcpyBatchAsync_v2" + suffix);
  c->Call("cuMemcpyBatchAsync_v2" + suffix, Told::kNamed,
          [&] { return newer(&to, &from, &size, 1, &attributes, &first, 1, s); });
  CUDA_MEMCPY3D_BATCH_OP box = Box(*c);
  const auto older_3d = Get<PFN_cuMemcpy3DBatchAsync_v12080>("cuMemcpy3DBatchAsync" + suffix);
  c->Call("cuMemcpy3DBatchAsync" + suffix, Told::kNamed,
          [&] { return older_3d(1, &box, &failed, 0, s); });
  const auto newer_3d = Get<PFN_cuMemcpy3DBatchAsync_v13000>("cuMemcpy3DBatchAsync_v2" + suffix);
  c->Call("cuMemcpy3DBatchAsync_v2" + suffix, Told::kNamed,
          [&] { return newer_3d(1, &box, 0, s); });
  // Told before the driver says that the device has no engine for it.
  CUmemDecompressParams packed{};
  packed.src = reinterpret_cast<void*>(from);
  packed.dst = reinterpret_cast<void*>(to);
  packed.srcNumBytes = packed.dstNumBytes = kPart;
  packed.dstActBytes = reinterpret_cast<cuuint32_t*>(to + kPart);
  packed.algo = CU_MEM_DECOMPRESS_ALGORITHM_LZ4;
  c->Call(
      "cuMemBatchDecompressAsync" + suffix, Told::kNamed,
      [&] {
        return GET(cuMemBatchDecompressAsync, "cuMemBatchDecompressAsync" + suffix)(&packed, 1, 0,
                                                                                    nullptr, s);
      },
      CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace

void CallCopies(Caller* c, bool per_thread) {
  CallLinear(c, per_thread ? "_ptds" : "", per_thread ? "_ptsz" : "");
  CallBatches(c, per_thread ? "_ptsz" : "");
}
