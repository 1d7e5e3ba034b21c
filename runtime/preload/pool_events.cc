// Hooks of events: how one stream comes to be behind another.
#include "runtime/base/own_calls.h"
#include "runtime/preload/pools.h"
#include "runtime/preload/process.h"
#include "runtime/preload/stream_ordered.h"

namespace vramspan::preload {
namespace {

template <typename Note>
CUresult Noted(CUresult result, Note note) {
  if (result != CUDA_SUCCESS || !Ready()) return result;
  const auto all = AllStreamOrdered();
  if (all.empty()) return result;
  const OwnCalls own;
  for (const auto& memory : all) note(memory.get());
  return result;
}

}  // namespace

template <bool kPerThread>
CUresult EventRecord(decltype(&::cuEventRecord) real, CUevent event, CUstream stream) {
  return Noted(real(event, stream), [&](StreamOrdered* memory) {
    memory->Recorded(event, Explicit<kPerThread>(stream));
  });
}

template <bool kPerThread>
CUresult EventRecordWithFlags(decltype(&::cuEventRecordWithFlags) real, CUevent event,
                              CUstream stream, unsigned flags) {
  return Noted(real(event, stream, flags), [&](StreamOrdered* memory) {
    memory->Recorded(event, Explicit<kPerThread>(stream));
  });
}

template <bool kPerThread>
CUresult StreamWaitEvent(decltype(&::cuStreamWaitEvent) real, CUstream stream, CUevent event,
                         unsigned flags) {
  return Noted(real(stream, event, flags),
               [&](StreamOrdered* memory) { memory->Waits(Explicit<kPerThread>(stream), event); });
}

CUresult EventDestroy(decltype(&::cuEventDestroy_v2) real, CUevent event) {
  return Noted(real(event), [&](StreamOrdered* memory) { memory->EventDestroyed(event); });
}

template CUresult EventRecord<false>(decltype(&::cuEventRecord), CUevent, CUstream);
template CUresult EventRecord<true>(decltype(&::cuEventRecord), CUevent, CUstream);
template CUresult EventRecordWithFlags<false>(decltype(&::cuEventRecordWithFlags), CUevent,
                                              CUstream, unsigned);
template CUresult EventRecordWithFlags<true>(decltype(&::cuEventRecordWithFlags), CUevent, CUstream,
                                             unsigned);
template CUresult StreamWaitEvent<false>(decltype(&::cuStreamWaitEvent), CUstream, CUevent,
                                         unsigned);
template CUresult StreamWaitEvent<true>(decltype(&::cuStreamWaitEvent), CUstream, CUevent,
                                        unsigned);

}  // namespace vramspan::preload
