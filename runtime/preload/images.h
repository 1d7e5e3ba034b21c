// Hooks of calls that load and unload code: what was loaded is known whether or not anybody listens
// (observe/module_images.h), since programs load their kernels before they allocate.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_IMAGES_H_
#define VRAMSPAN_RUNTIME_PRELOAD_IMAGES_H_

#include "runtime/observe/module_images.h"
#include "runtime/preload/foreign.h"
#include "runtime/preload/launch.h"

namespace vramspan::preload {

template <typename Params, typename Function>
struct Loading;
template <typename Params, typename... Args>
struct Loading<Params, CUresult (*)(Args...)> {
  static CUresult Call(CUresult (*real)(Args...), Args... args) {
    const CUresult result = Rescued<CUresult (*)(Args...)>::Call(real, args...);
    if (result == CUDA_SUCCESS) NoteLoaded(Params{args...});
    return result;
  }
};
#define VS_LOADED(symbol) Loading<struct symbol##_params_st, decltype(&::symbol)>::Call

template <uint32_t kCall, typename Params, typename Function>
struct Unloading;
template <uint32_t kCall, typename Params, typename... Args>
struct Unloading<kCall, Params, CUresult (*)(Args...)> {
  static CUresult Call(CUresult (*real)(Args...), Args... args) {
    NoteUnloads(Params{args...});
    return Watched<kCall, Params, CUresult (*)(Args...)>::Call(real, args...);
  }
};
#define VS_UNLOADED(symbol) \
  Unloading<CUPTI_DRIVER_TRACE_CBID_##symbol, struct symbol##_params_st, decltype(&::symbol)>::Call

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_IMAGES_H_
