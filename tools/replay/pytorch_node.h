// One node of a PyTorch execution trace: an operator that was called, with the tensors that went in
// and came out. Schemas 1.0 and 1.1 (torch/csrc/profiler/standalone/execution_trace_observer.cpp
// writes them; "chakra" is their public name).
#ifndef VRAMSPAN_TOOLS_REPLAY_PYTORCH_NODE_H_
#define VRAMSPAN_TOOLS_REPLAY_PYTORCH_NODE_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace vramspan::replay {

// A tensor on a GPU, in bytes. The trace counts offsets in elements of the tensor's type.
struct PytorchTensor {
  uint64_t storage = 0;  // Names its memory by address: a freed one's id comes again.
  uint64_t offset = 0;   // In the storage.
  uint64_t size = 0;     // From its first to its last element where strides are told, else all of
                         // its elements. Never 0.
  uint32_t device = 0;
  bool output = false;
  bool written = false;  // Of an input: the operator changes it.
};

struct PytorchNode {
  enum class Kind : uint8_t {
    kOther,     // A call that may launch kernels.
    kAlias,     // Gives another view of what it was given: touches no memory.
    kAllocate,  // Makes memory and touches none, or only looks at shapes.
    kUnknown,   // Not an operator: autograd's wrappers, annotations, threads.
  };

  uint64_t id = 0;  // By order of entry; also those of tensors come from this count.
  uint64_t parent = 0;
  uint64_t rf_id = 0;  // Under which a profile knows the call; 0: none.
  std::string name;
  Kind kind = Kind::kUnknown;
  bool launches = false;  // A kernel of Triton or a collective: work, though no operator.
  bool streams = false;   // Copies and fills: every byte once.
  double flops = 0;       // Of matrix products and convolutions, 0 for others.
  uint8_t item_size = 0;  // Of the largest type among its tensors.
  std::vector<PytorchTensor> tensors;  // Inputs, then outputs.
  uint32_t absurd = 0;                 // Tensors left out because nothing is as large.
};

// FailedPrecondition for what is no node.
StatusOr<PytorchNode> ParsePytorchNode(const nlohmann::json& node);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_PYTORCH_NODE_H_
