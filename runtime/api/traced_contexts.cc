#include "runtime/api/traced_contexts.h"

namespace vramspan {

bool TracedContexts::Add(CUcontext context, Tracer* tracer) {
  for (Entry& e : entries_) {
    if (e.kept.load(std::memory_order_relaxed) != nullptr) continue;
    e.kept.store(tracer, std::memory_order_release);
    e.tracer.store(tracer, std::memory_order_release);
    e.context.store(context, std::memory_order_release);
    count_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  return false;
}

TracedContexts::Entry* TracedContexts::Close(Tracer* tracer, bool* was) {
  *was = false;
  for (Entry& e : entries_) {
    if (e.kept.load(std::memory_order_relaxed) != tracer) continue;
    *was = e.tracer.load(std::memory_order_relaxed) != nullptr;
    if (!*was) return &e;  // Was tried before.
    e.context.store(nullptr, std::memory_order_seq_cst);
    e.tracer.store(nullptr, std::memory_order_seq_cst);
    count_.fetch_sub(1, std::memory_order_relaxed);
    return &e;
  }
  return nullptr;
}

bool TracedContexts::Inherited() const {
  const OwnProcess started = started_in_.load(std::memory_order_relaxed);
  return !started.None() && !started.Here();
}

}  // namespace vramspan
