#ifndef VRAMSPAN_TOOLS_SIMCUDA_ENTRY_POINT_H_
#define VRAMSPAN_TOOLS_SIMCUDA_ENTRY_POINT_H_

// What an exported symbol jumps to: the row's function, with the checks of call_guard.h in front of
// it and the callbacks of callbacks.h around both.

#include <cuda.h>

#include <type_traits>

#include "tools/simcuda/call_guard.h"
#include "tools/simcuda/callbacks.h"
#include "tools/simcuda/entry_table.h"

namespace simcuda {

// How calls of a row show in callbacks: under which id, under which row's symbol, and with which
// struct of generated_cuda_meta.h (never defined there for a call without parameters).
template <uint32_t kCallbackId, size_t kNameId, typename ParamsStruct>
struct Trace {
  static constexpr uint32_t kCallback = kCallbackId;
  static constexpr size_t kName = kNameId;
  using Params = ParamsStruct;
};

// Where the struct would end that holds these one after the other.
template <typename... Args>
constexpr size_t SizeOfStruct() {
  size_t size = 0;
  size_t alignment = 1;
  const auto align = [&size](size_t to) { size = (size + to - 1) / to * to; };
  ((align(alignof(Args)), size += sizeof(Args),
    alignment = alignment < alignof(Args) ? alignof(Args) : alignment),
   ...);
  align(alignment);
  return size;
}

template <size_t kId, Needs kNeeds, bool kPerThread, auto kFunction, typename TraceRow>
struct EntryPoint;
template <size_t kId, Needs kNeeds, bool kPerThread, typename... Args,
          CUresult (*kFunction)(Args...), typename TraceRow>
struct EntryPoint<kId, kNeeds, kPerThread, kFunction, TraceRow> {
  static CUresult Call(Args... args) {
    return callbacks::Enabled(TraceRow::kCallback) ? CallTraced(args...) : CallPlain(args...);
  }

 private:
  static CUresult CallPlain(Args... args) {
    const CallGuard guard(kId, kNeeds, kPerThread);
    if (guard.result() != CUDA_SUCCESS) return guard.result();
    return kFunction(args...);
  }

  __attribute__((noinline)) static CUresult CallTraced(Args... args) {
    const char* kernel = nullptr;
    if (Entry(kId).symbol.starts_with("cuLaunch")) ((kernel = KernelOf(args, kernel)), ...);
    const auto params = MakeParams(args...);
    const void* const shown = sizeof...(Args) == 0 ? nullptr : &params;
    callbacks::TracedCall call(TraceRow::kCallback, Entry(TraceRow::kName).symbol.data(), shown,
                               kernel);
    return call.Return(CallPlain(args...));
  }

  static auto MakeParams(Args... args) {
    if constexpr (sizeof...(Args) == 0) {
      return nullptr;
    } else {
      using Params = typename TraceRow::Params;
      static_assert(sizeof(Params) == SizeOfStruct<Args...>());
      return Params{args...};
    }
  }

  template <typename Arg>
  static const char* KernelOf(Arg arg, const char* otherwise) {
    if constexpr (std::is_same_v<Arg, CUfunction>) return callbacks::KernelName(arg);
    return otherwise;
  }
};

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_ENTRY_POINT_H_
