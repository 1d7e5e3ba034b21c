#include "runtime/api/seen_calls.h"

#include <cupti_driver_cbid.h>

#include "runtime/api/foreign_calls.h"
#include "runtime/api/traced_contexts.h"
#include "runtime/base/own_calls.h"

namespace vramspan {
namespace {

using Entry = TracedContexts::Entry;

static_assert(TracedContexts::kMost < 63 && alignof(Tracer) > kTokenWaits);

bool DestroysStream(uint32_t call) {
  return call == CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy ||
         call == CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2;
}

bool DestroysContext(uint32_t call) {
  return call == CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy ||
         call == CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2;
}

uint64_t TokenOf(const Entry& entry, Presence::Side side) {
  const auto index = static_cast<uint64_t>(&entry - TracedContexts::Get().entries().data());
  return (index + 1) << 8 | uint64_t{side} << 2;
}
Entry& EntryOfToken(uint64_t token) { return TracedContexts::Get().entries()[(token >> 8) - 1]; }
Presence::Side SideOfToken(uint64_t token) { return (token >> 2) & 1; }

uint64_t BeginAddressQuery() {
  uint64_t token = 0;
  uint64_t bit = kTokenLooksUp << 1;
  for (Entry& e : TracedContexts::Get().entries()) {
    if (e.tracer.load(std::memory_order_acquire) != nullptr) {
      const UseOfTracer use(e);
      if (use.tracer() != nullptr && use.tracer()->BeginAddressQuery())
        token |= bit | kTokenLooksUp;
    }
    bit <<= 1;
  }
  return token;
}

void EndAddressQuery(uint64_t token) {
  uint64_t bit = kTokenLooksUp << 1;
  for (Entry& e : TracedContexts::Get().entries()) {
    if ((token & bit) != 0) {
      const UseOfTracer use(e);
      if (use.tracer() != nullptr) use.tracer()->EndAddressQuery();
    }
    bit <<= 1;
  }
}

void EndWait(uint64_t token, uint32_t call, const void* params) {
  // The runtime may have gone while the thread waited.
  for (Entry& e : TracedContexts::Get().entries()) {
    if ((reinterpret_cast<uintptr_t>(e.tracer.load(std::memory_order_acquire)) | kTokenWaits) !=
        token) {
      continue;
    }
    const UseOfTracer use(e);
    if (use.tracer() != nullptr) use.tracer()->EndWait(call, params);
  }
}

}  // namespace

void EnterSeenCall(uint32_t call, const void* params, CUcontext context, uint64_t* token) {
  if (OwnCalls::Now() || !TracedContexts::Get().Here()) return;
  const CallClass call_class = Decoder::ClassOf(call);
  if (call_class == CallClass::kSubmits) {
    if (context == nullptr || Mover::InScope()) return;
    Entry* const entry = TracedContexts::Get().EntryOf(context);
    if (entry == nullptr) {
      BeginForeignWork(call, params, context, nullptr);
      return;
    }
    UseOfTracer use(*entry);
    BeginForeignWork(call, params, context, use.tracer());
    if (use.tracer() == nullptr) return;
    const OwnCallsOfLaunch own;
    if (use.tracer()->Enter(call, params)) *token = TokenOf(*entry, use.Keep());
    return;
  }
  if (call_class == CallClass::kWaits) {
    const OwnCallsOfLaunch own;
    Entry* const entry = context != nullptr ? TracedContexts::Get().EntryOf(context) : nullptr;
    if (entry == nullptr) return;
    const UseOfTracer use(*entry);
    if (use.tracer() == nullptr) return;
    use.tracer()->BeginWait(call, params);
    *token = reinterpret_cast<uintptr_t>(use.tracer()) | kTokenWaits;
    return;
  }
  const OwnCalls own;
  if (DestroysStream(call)) {
    // Whatever context is current: a stream may be destroyed beside another's, or beside none.
    for (Entry& e : TracedContexts::Get().entries()) {
      if (e.tracer.load(std::memory_order_acquire) == nullptr) continue;
      const UseOfTracer use(e);
      // The one parameter there is.
      if (use.tracer() != nullptr) use.tracer()->StreamGoes(*static_cast<const CUstream*>(params));
    }
    return;
  }
  if (DestroysContext(call)) ForgetPasser(*static_cast<const CUcontext*>(params));
  Decoder& decoder = *seen_calls_decoder.load(std::memory_order_acquire);
  if (decoder.LooksUp(call, params)) *token = BeginAddressQuery();
  if (call_class == CallClass::kDefines) {
    decoder.Before(call, params);
  }
}

void ExitSeenCall(uint32_t call, const void* params, CUresult result, uint64_t token) {
  if (!TracedContexts::Get().Here()) return;
  if ((token & (kTokenLooksUp | kTokenWaits)) == kTokenWaits) {
    const OwnCallsOfLaunch own;
    EndWait(token, call, params);
    return;
  }
  if ((token & kTokenLooksUp) != 0) {
    const OwnCalls own;
    EndAddressQuery(token);
  } else if (token != 0) {
    const OwnCallsOfLaunch own;
    Entry& e = EntryOfToken(token);
    e.kept.load(std::memory_order_acquire)->Exit(Tracer::StreamOf(call, params));
    e.inside.Leave(SideOfToken(token));
    if (begun_foreign_work.any()) EndForeignWork();
    return;
  }
  if (begun_foreign_work.any() && !OwnCalls::Now()) {
    const OwnCalls own;
    EndForeignWork();
  }
  if (OwnCalls::Now() || Decoder::ClassOf(call) != CallClass::kDefines) return;
  const OwnCalls own;
  seen_calls_decoder.load(std::memory_order_acquire)->Learn(call, params, result);
}

std::vector<uint32_t> CallsToSee() {
  std::vector<uint32_t> calls;
  for (const CallClass c :
       {CallClass::kSubmits, CallClass::kDefines, CallClass::kLooksUp, CallClass::kWaits}) {
    for (const uint32_t call : Decoder::CallsOf(c)) calls.push_back(call);
  }
  calls.push_back(CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy);
  calls.push_back(CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2);
  return calls;
}

}  // namespace vramspan
