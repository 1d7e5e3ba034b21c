// Work of one context in another's memory: copies between devices, mostly. It is waited for, so
// that nothing moves under it.
//
// Threads: any; what a thread began, the same thread ends.
#ifndef VRAMSPAN_RUNTIME_API_FOREIGN_CALLS_H_
#define VRAMSPAN_RUNTIME_API_FOREIGN_CALLS_H_

#include <vector>

#include "runtime/api/traced_contexts.h"
#include "runtime/api/tracer.h"
#include "runtime/base/thread_local.h"

namespace vramspan {

// What the calling thread has begun, by the entries of TracedContexts.
struct BegunForeignWork {
  uint32_t tracers = 0;  // A bit each.
  uint32_t passing = 0;  // Those beside whose memory it only might be.
  uint32_t sides = 0;    // On which side the thread uses them.
  CUstream stream = nullptr;

  bool any() const { return (tracers | passing) != 0; }
};
inline VS_HOT_THREAD_LOCAL BegunForeignWork begun_foreign_work;

// The thread submits work in `context`, whose tracer is `own`, if it has one; others are traced.
void BeginWorkBesideOthers(uint32_t call, const void* params, CUcontext context, const Tracer* own);
// The same whether others are or not.
inline void BeginForeignWork(uint32_t call, const void* params, CUcontext context,
                             const Tracer* own) {
  if (TracedContexts::Get().count() != (own != nullptr ? size_t{1} : size_t{0})) [[unlikely]]
    BeginWorkBesideOthers(call, params, context, own);
}
// REQUIRES: begun_foreign_work.any().
void EndForeignWork();

// The contexts but `own` that submitted work beside memory of others. A primary one stays: calls
// that end it name its device.
std::vector<CUcontext> ContextsThatPassed(CUcontext own);
// It is about to go, and its work with it. Its place may be another's from then on.
void ForgetPasser(CUcontext context);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_FOREIGN_CALLS_H_
