#include "runtime/preload/optix.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <utility>

#include "runtime/preload/hook_scope.h"
#include "runtime/preload/runtimes.h"

namespace vramspan::preload {
namespace {

// As OptiX's headers have them; the SDK need not be installed.
using OptixResult = int;
constexpr OptixResult kOptixSuccess = 0;
using Query = OptixResult (*)(int abi, unsigned options, int* keys, const void** values,
                              void* table, size_t table_bytes);
using CreateContext = OptixResult (*)(CUcontext, const void* options, void** context);
// The table's third function makes a context in the versions 22 (OptiX 7.0), 55 and 118 of the ABI,
// and so in those between. All that takes a stream comes behind it, and takes what was made of such
// a context. Of others nothing is known.
constexpr int kFirstAbi = 22, kLastAbi = 118;
constexpr size_t kCreateContext = 2;
constexpr size_t kTableBytes = (kCreateContext + 1) * sizeof(void*);

void Begins() { LeaveToDriver("it uses OptiX, whose work nobody sees"); }

// Each version of the ABI may have a function of its own.
constexpr size_t kVersions = 8;
constinit std::array<std::atomic<CreateContext>, kVersions> real_create{};
constinit std::atomic<Query> real_query{nullptr};

template <size_t kVersion>
OptixResult Create(CUcontext context, const void* options, void** made) {
  {
    const HookScope scope;
    Begins();
  }
  return real_create[kVersion].load(std::memory_order_acquire)(context, options, made);
}

template <size_t... kVersion>
constexpr std::array<CreateContext, kVersions> AllCreate(std::index_sequence<kVersion...>) {
  return {&Create<kVersion>...};
}

// Null: there are too many.
CreateContext InPlaceOf(CreateContext real) {
  static constexpr std::array kOurs = AllCreate(std::make_index_sequence<kVersions>());
  for (size_t i = 0; i < kVersions; ++i) {
    CreateContext none = nullptr;
    if (real == kOurs[i]) return real;
    if (real_create[i].compare_exchange_strong(none, real, std::memory_order_acq_rel) ||
        none == real) {
      return kOurs[i];
    }
  }
  return nullptr;
}

OptixResult Asked(int abi, unsigned options, int* keys, const void** values, void* table,
                  size_t table_bytes) {
  const OptixResult result =
      real_query.load(std::memory_order_acquire)(abi, options, keys, values, table, table_bytes);
  if (result != kOptixSuccess || table == nullptr || table_bytes < kTableBytes) return result;
  char* const entry = static_cast<char*>(table) + kCreateContext * sizeof(void*);
  CreateContext create = nullptr;
  std::memcpy(&create, entry, sizeof(create));
  if (create == nullptr) return result;
  const bool known = abi >= kFirstAbi && abi <= kLastAbi;
  const CreateContext ours = known ? InPlaceOf(create) : nullptr;
  if (ours != nullptr) {
    std::memcpy(entry, &ours, sizeof(ours));
  } else {
    const HookScope scope;
    Begins();
  }
  return result;
}

}  // namespace

bool IsOptixHooked(std::string_view name) { return name == "optixQueryFunctionTable"; }

void* OptixHook(void* real) {
  real_query.store(reinterpret_cast<Query>(real), std::memory_order_release);
  return reinterpret_cast<void*>(&Asked);
}

}  // namespace vramspan::preload
