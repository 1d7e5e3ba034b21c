#include "tools/simcuda/calls_external.h"

#include <unistd.h>

#include <utility>

#include "tools/simcuda/capture.h"
#include "tools/simcuda/memory/allocations.h"
#include "tools/simcuda/memory/external.h"
#include "tools/simcuda/thread.h"

namespace simcuda::calls {

using memory::ExternalMemories;
using memory::ExternalMemory;

CUresult ImportExternalMemory(CUexternalMemory* memory,
                              const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* descriptor) {
  if (memory == nullptr || descriptor == nullptr || descriptor->size == 0 ||
      (descriptor->flags & ~unsigned{CUDA_EXTERNAL_MEMORY_DEDICATED}) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (descriptor->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  ExternalMemory made;
  made.memory = memory::Physical::Import(descriptor->handle.fd);
  made.size = descriptor->size;
  made.context_id = CurrentContext()->id();
  if (!made.memory) return CUDA_ERROR_INVALID_HANDLE;
  if (made.size > made.memory->size()) return CUDA_ERROR_INVALID_VALUE;
  if (!made.memory->on_device()) return CUDA_ERROR_NOT_SUPPORTED;
  close(descriptor->handle.fd);
  *memory = ExternalMemories().Insert(std::make_shared<const ExternalMemory>(std::move(made)));
  return CUDA_SUCCESS;
}

CUresult ExternalMemoryGetMappedBuffer(CUdeviceptr* address, CUexternalMemory memory,
                                       const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* descriptor) {
  if (address == nullptr || descriptor == nullptr || descriptor->size == 0 ||
      descriptor->flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (const CUresult r = capture::CheckUnsafeCall(); r != CUDA_SUCCESS) return r;
  const auto found = ExternalMemories().Find(memory);
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  if (descriptor->offset > found->size || descriptor->size > found->size - descriptor->offset) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return memory::MapImported(*CurrentContext(), found->memory, descriptor->offset, descriptor->size,
                             address);
}

CUresult DestroyExternalMemory(CUexternalMemory memory) {
  return ExternalMemories().Remove(memory) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace simcuda::calls
