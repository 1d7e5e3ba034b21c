// Hooks of events: how one stream comes to be behind another. While no free is pending they cost a
// load. What cannot be noted is not: it is a hint.
#include <absl/container/inlined_vector.h>

#include <exception>

#include "runtime/base/own_calls.h"
#include "runtime/preload/captures.h"
#include "runtime/preload/pools.h"
#include "runtime/preload/process.h"
#include "runtime/preload/stream_ordered.h"

namespace vramspan::preload {
namespace {

bool Matters() { return StreamOrdered::AnyPending() && Ready(); }

// Calls `note` with each runtime's memory.
template <typename Note>
void ForEach(Note note) {
  const OwnCalls own;
  try {
    for (const auto& memory : AllStreamOrdered()) note(memory.get());
  } catch (const std::exception&) {
    // The program's call is done.
  }
}

template <typename Call>
CUresult Record(Call real, CUevent event, CUstream stream) {
  if (!Matters()) return real();
  // As it was before the call: what others free in the stream meanwhile is not behind it.
  struct Before {
    StreamOrdered* memory;
    StreamOrder::Clock clock;
  };
  absl::InlinedVector<Before, 2> before;
  const bool captures = Captures(stream);
  ForEach([&](StreamOrdered* memory) {
    memory->order().Forget(event);
    if (!captures) before.push_back({memory, memory->order().Of(memory->IdOf(stream))});
  });
  const CUresult result = real();
  if (result != CUDA_SUCCESS) return result;
  ForEach([&](StreamOrdered* memory) {
    for (const Before& b : before) {
      if (b.memory == memory) memory->order().Recorded(event, b.clock);
    }
  });
  return result;
}

}  // namespace

template <bool kPerThread>
CUresult EventRecord(decltype(&::cuEventRecord) real, CUevent event, CUstream stream) {
  return Record([&] { return real(event, stream); }, event, Explicit<kPerThread>(stream));
}

template <bool kPerThread>
CUresult EventRecordWithFlags(decltype(&::cuEventRecordWithFlags) real, CUevent event,
                              CUstream stream, unsigned flags) {
  return Record([&] { return real(event, stream, flags); }, event, Explicit<kPerThread>(stream));
}

template <bool kPerThread>
CUresult StreamWaitEvent(decltype(&::cuStreamWaitEvent) real, CUstream stream, CUevent event,
                         unsigned flags) {
  const CUresult result = real(stream, event, flags);
  const CUstream waits = Explicit<kPerThread>(stream);
  if (result != CUDA_SUCCESS || !Matters() || Captures(waits)) return result;
  ForEach([&](StreamOrdered* memory) { memory->order().Waits(memory->IdOf(waits), event); });
  return result;
}

CUresult EventDestroy(decltype(&::cuEventDestroy_v2) real, CUevent event) {
  // Before the call: from then on another event may have the handle.
  if (Matters()) ForEach([&](StreamOrdered* memory) { memory->order().Forget(event); });
  return real(event);
}

void NoteGraphLaunch() {
  if (Matters()) ForEach([](StreamOrdered* memory) { memory->order().ForgetEvents(); });
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
