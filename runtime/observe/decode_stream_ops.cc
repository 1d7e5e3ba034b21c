#include <cstring>

#include "runtime/observe/knowledge.h"

namespace vramspan {

// All operations with an address have it in the same place.
void AddStreamOps(const Knowledge& known, const CUstreamBatchMemOpParams* ops, size_t count,
                  Submission* out) {
  if (ops == nullptr) return;
  for (size_t i = 0; i < count; ++i) {
    const CUstreamBatchMemOpParams& op = ops[i];
    int operation = 0;  // A newer driver may know more of them than the enumeration.
    std::memcpy(&operation, &op, sizeof(operation));
    switch (operation) {
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        AddRange(known, op.waitValue.address, operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ? 4 : 8,
                 /*write=*/false,
                 /*linear=*/true, out);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        AddRange(known, op.writeValue.address, operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 ? 4 : 8,
                 /*write=*/true,
                 /*linear=*/true, out);
        break;
      case CU_STREAM_MEM_OP_BARRIER:
      case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        break;
      default:
        out->incomplete = true;
    }
  }
}

}  // namespace vramspan
