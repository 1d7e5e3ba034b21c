#include "tools/simcuda/memory/external.h"

namespace simcuda::memory {

HandleTable<CUexternalMemory, const ExternalMemory>& ExternalMemories() {
  static auto* const table = new HandleTable<CUexternalMemory, const ExternalMemory>();
  return *table;
}

void ForgetExternalMemory(const Context& context) {
  for (const auto& [handle, memory] : ExternalMemories().All()) {
    if (memory->context_id == context.id()) ExternalMemories().RemoveThis(handle, memory.get());
  }
}

}  // namespace simcuda::memory
