#include "tools/simcuda/call_guard.h"

#include "tools/simcuda/control_state.h"
#include "tools/simcuda/driver.h"
#include "tools/simcuda/thread.h"

namespace simcuda {
namespace {

CUresult Check(size_t id, Needs needs, const Thread& thread) {
  const CUresult injected = ControlState::Get().OnCall(id);
  if (needs != Needs::kNothing && Driver::Get().gone()) return CUDA_ERROR_DEINITIALIZED;
  if (needs != Needs::kNothing && !Driver::Get().initialized()) return CUDA_ERROR_NOT_INITIALIZED;
  if (needs != Needs::kNothing && thread.in_callback) return CUDA_ERROR_NOT_PERMITTED;
  if (injected != CUDA_SUCCESS) return injected;
  if (needs != Needs::kContext) return CUDA_SUCCESS;
  if (thread.contexts.empty() || !thread.contexts.back()) return CUDA_ERROR_INVALID_CONTEXT;
  return thread.contexts.back()->error();
}

}  // namespace

CallGuard::CallGuard(size_t id, Needs needs, bool per_thread)
    : previous_per_thread_(Thread::Self().per_thread_default) {
  Thread& thread = Thread::Self();
  thread.per_thread_default = per_thread;
  result_ = Check(id, needs, thread);
}

CallGuard::~CallGuard() { Thread::Self().per_thread_default = previous_per_thread_; }

}  // namespace simcuda
