#ifndef VRAMSPAN_TOOLS_SIMCUDA_OP_H_
#define VRAMSPAN_TOOLS_SIMCUDA_OP_H_

// One piece of stream work. An op does not change after it was made, so that one op may be
// submitted many times (a graph node keeps its op and each launch of the graph runs it again). It
// runs on the worker thread of a hardware queue; whatever blocks there holds back everything behind
// it.

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace simcuda {

class Context;
class Event;

enum class OpKind {
  kKernel,       // KernelOp (kernel_op.h)
  kMemcpy,       // MemcpyOp
  kMemset,       // MemsetOp
  kHostFunc,     // HostFuncOp
  kCallback,     // cuStreamAddCallback; cannot be captured
  kMemOps,       // MemOpsOp: wait and write values
  kEventRecord,  // made per submission; capture sees OnEventRecord instead
  kEventWait,    // made per submission; capture sees OnEventWait instead
  kAlloc,        // stream ordered allocation
  kFree,         // stream ordered free
  kGraph,        // a graph launch
};

// What an op may ask while it waits or runs.
class Exec {
 public:
  explicit Exec(Context& context) : context_(context) {}
  Context& context() const { return context_; }
  // True when the context has died or is being destroyed: a wait must end, its op will be skipped.
  bool Abandoned() const;

 private:
  Context& context_;
};

class Op {
 public:
  explicit Op(OpKind kind) : kind_(kind) {}
  virtual ~Op() = default;
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;

  OpKind kind() const { return kind_; }

  // Does the work, on the worker; may block there, as long as exec.Abandoned() is false. A memory
  // fault in it is caught and kills the context with CUDA_ERROR_ILLEGAL_ADDRESS (destructors of its
  // frames do not run then); any result but CUDA_SUCCESS kills the context with that result.
  virtual CUresult Run(const Exec& exec) const = 0;

  // Called in place of Run where the context is dead: for what must happen all the same (a callback
  // hears of the error, freed memory goes back).
  virtual void Skip(CUresult /*error*/) const {}

 private:
  const OpKind kind_;
};
using OpPtr = std::shared_ptr<const Op>;

// Rows and planes of bytes between plain addresses. A linear copy has height = depth = 1.
struct CopyShape {
  const void* src = nullptr;
  void* dst = nullptr;
  size_t width = 0;  // bytes in a row
  size_t height = 1;
  size_t depth = 1;
  size_t src_pitch = 0;  // bytes from row to row
  size_t dst_pitch = 0;
  size_t src_slice = 0;  // bytes from plane to plane
  size_t dst_slice = 0;
};

class MemcpyOp : public Op {
 public:
  explicit MemcpyOp(const CopyShape& shape) : Op(OpKind::kMemcpy), shape_(shape) {}
  // The source's bytes were read already (pageable memory): shape.src is ignored.
  MemcpyOp(const CopyShape& shape, std::vector<char> staged)
      : Op(OpKind::kMemcpy), shape_(shape), staged_(std::move(staged)) {}
  const CopyShape& shape() const { return shape_; }
  CUresult Run(const Exec& exec) const override;

 private:
  const CopyShape shape_;
  const std::vector<char> staged_;
};

struct FillShape {
  void* dst = nullptr;
  uint32_t value = 0;
  size_t element_size = 1;  // 1, 2 or 4
  size_t width = 0;         // elements in a row
  size_t height = 1;
  size_t pitch = 0;  // bytes from row to row
};

class MemsetOp : public Op {
 public:
  explicit MemsetOp(const FillShape& shape) : Op(OpKind::kMemset), shape_(shape) {}
  const FillShape& shape() const { return shape_; }
  CUresult Run(const Exec& exec) const override;

 private:
  const FillShape shape_;
};

class HostFuncOp : public Op {
 public:
  HostFuncOp(CUhostFn function, void* data)
      : Op(OpKind::kHostFunc), fn_(function), user_data_(data) {}
  CUhostFn fn() const { return fn_; }
  void* user_data() const { return user_data_; }
  CUresult Run(const Exec& exec) const override;

 private:
  const CUhostFn fn_;
  void* const user_data_;
};

// One or more waits and writes on memory words, in order.
class MemOpsOp : public Op {
 public:
  explicit MemOpsOp(std::vector<CUstreamBatchMemOpParams> params)
      : Op(OpKind::kMemOps), params_(std::move(params)) {}
  const std::vector<CUstreamBatchMemOpParams>& params() const { return params_; }
  CUresult Run(const Exec& exec) const override;

 private:
  const std::vector<CUstreamBatchMemOpParams> params_;
};

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_OP_H_
