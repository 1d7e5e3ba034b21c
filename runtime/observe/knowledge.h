// What decoding works with, and the parts of it by kind of work. Inside this folder only; the
// driver's structs of parameters are taken apart in call_table.cc.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_KNOWLEDGE_H_
#define VRAMSPAN_RUNTIME_OBSERVE_KNOWLEDGE_H_

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/driver/driver.h"
#include "runtime/observe/arenas.h"
#include "runtime/observe/graphs.h"
#include "runtime/observe/kernel_codes.h"
#include "runtime/observe/layouts.h"
#include "runtime/observe/objects.h"
#include "runtime/observe/pitched_copy.h"
#include "runtime/observe/submission.h"

namespace vramspan {

struct Knowledge {
  explicit Knowledge(std::shared_ptr<const Driver> d)
      : driver(std::move(d)), layouts(*driver), codes(*driver) {}

  const std::shared_ptr<const Driver> driver;
  Arenas arenas;
  Layouts layouts;
  KernelCodes codes;
  Graphs graphs;
  Objects textures;
  TensorMaps tensor_maps;
  std::atomic<bool> bound_textures{false};  // A texture reference was bound to memory of an arena.

  // Kernels may reach what no launch of them names.
  bool any_may_be_reached() const {
    return graphs.any_device_launch() || bound_textures.load(std::memory_order_relaxed);
  }
};

// decode_launch.cc: a kernel, and where its parameters are. Where they cannot be read the
// submission becomes kUnknown; else it is a kKernel.
void NameKernel(Knowledge& known, const void* kernel, void* const* parameters, void* const* extra,
                Submission* out);
// What the parameters say.
void ScanKernel(const Knowledge& known, Submission* out);
// Both.
void DecodeKernel(Knowledge& known, const void* kernel, void* const* parameters, void* const* extra,
                  Submission* out);

// decode_copy.cc. Addresses of host memory are given like any other: the driver takes a device
// pointer for one, so all are tested.
void AddRange(const Knowledge& known, uint64_t base, uint64_t size, bool write, bool linear,
              Submission* out);
// `rows` pieces of `width` bytes, `pitch` apart; 0 is no distance.
void AddRows(const Knowledge& known, uint64_t base, uint64_t pitch, uint64_t width, uint64_t rows,
             bool write, Submission* out);
enum class Source : uint8_t { kDevice, kMaybeHost };
void AddCopy(const Knowledge& known, uint64_t target, uint64_t source, uint64_t size, Source from,
             Submission* out);

// decode_pitched.cc.
void AddPitchedCopy(const Knowledge& known, const PitchedCopy& copy, Submission* out);

// decode_batch.cc.
void AddCopyBatch(const Knowledge& known, const CUdeviceptr* targets, const CUdeviceptr* sources,
                  const size_t* sizes, size_t count, Submission* out);
void AddCopyBatch(const Knowledge& known, const CUDA_MEMCPY3D_BATCH_OP* ops, size_t count,
                  Submission* out);
void AddDecompression(const Knowledge& known, const CUmemDecompressParams* ops, size_t count,
                      Submission* out);

// decode_stream_ops.cc.
void AddStreamOps(const Knowledge& known, const CUstreamBatchMemOpParams* ops, size_t count,
                  Submission* out);

// decode_graph.cc: what a node of these parameters does.
NodeWork DecodeNode(Knowledge& known, const CUDA_KERNEL_NODE_PARAMS& params);
NodeWork DecodeNode(Knowledge& known, const CUDA_KERNEL_NODE_PARAMS_v1& params);
NodeWork DecodeNode(Knowledge& known, const CUDA_MEMCPY3D& params);
NodeWork DecodeNode(Knowledge& known, const CUDA_MEMSET_NODE_PARAMS& params);
NodeWork DecodeNode(Knowledge& known, const CUDA_BATCH_MEM_OP_NODE_PARAMS& params);
NodeWork DecodeNode(Knowledge& known, const CUgraphNodeParams& params);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_KNOWLEDGE_H_
