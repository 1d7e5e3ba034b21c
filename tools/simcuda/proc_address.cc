// cuGetProcAddress: a base name, a CUDA version and the kind of default stream to an exported
// symbol.

#include "tools/simcuda/calls_device.h"
#include "tools/simcuda/driver.h"
#include "tools/simcuda/entry_table.h"

namespace simcuda::calls {
namespace {

// The newest row of that base name which `version` knows; per-thread variants only where asked for,
// and preferred then.
const EntryInfo* Newest(std::string_view base, int version, bool per_thread) {
  const EntryInfo* best = nullptr;
  for (size_t id = 0; id < EntryCount(); ++id) {
    const EntryInfo& entry = Entry(id);
    if (entry.base != base || entry.version > version || (entry.per_thread && !per_thread)) {
      continue;
    }
    if (best == nullptr || entry.version > best->version ||
        (entry.version == best->version && entry.per_thread)) {
      best = &entry;
    }
  }
  return best;
}

}  // namespace

CUresult GetProcAddressV2(const char* symbol, void** function, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult* status) {
  constexpr cuuint64_t kKnownFlags =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (symbol == nullptr || function == nullptr || (flags & ~kKnownFlags) != 0 ||
      flags == kKnownFlags || version > Driver::Get().config().driver_version) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  const EntryInfo* found = Newest(symbol, version, per_thread);
  *function = found == nullptr ? nullptr : found->address;
  const bool known = found != nullptr || Newest(symbol, 1 << 30, true) != nullptr;
  if (status != nullptr) {
    *status = found != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
              : known          ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                               : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return CUDA_SUCCESS;
}

CUresult GetProcAddressV1(const char* symbol, void** function, int version, cuuint64_t flags) {
  const CUresult result = GetProcAddressV2(symbol, function, version, flags, nullptr);
  if (result != CUDA_SUCCESS) return result;
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // namespace simcuda::calls
