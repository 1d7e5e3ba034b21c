#include "runtime/api/hand_over.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "runtime/api/seen_calls.h"
#include "runtime/base/uncancellable.h"

namespace vramspan {
namespace {

constinit std::atomic<bool> hooks_took_over{false};
constinit std::atomic<int64_t> left_to_cupti{0};

// Calls that the hooks see, each from its entry to its exit, once they have taken over: CUPTI may
// see them as well for a moment.
thread_local int in_hooks = 0;

void EnterByCupti(uint32_t call, const void* params, CUcontext context, uint64_t* token) {
  if (in_hooks != 0) return;
  EnterSeenCall(call, params, context, token);
  // No frame of ours is there to leave the scope where the thread is cancelled in the driver.
  if (Submits(*token)) Uncancellable::Hold();
}
void ExitByCupti(uint32_t call, const void* params, CUresult result, uint64_t token) {
  if (in_hooks == 0) ExitSeenCall(call, params, result, token);
}

// The token of a call that the hooks left to CUPTI: looks up, but in no runtime.
constexpr uint64_t kLeftToCupti = kTokenLooksUp;

void EnterByStandby(uint32_t call, const void* params, CUcontext context, uint64_t* token) {
  // Counts and then looks; GiveUpCupti looks the other way round: one of the two sees the other.
  left_to_cupti.fetch_add(1);
  if (!hooks_took_over.load()) {
    *token = kLeftToCupti;
    return;
  }
  left_to_cupti.fetch_sub(1);
  ++in_hooks;
  EnterSeenCall(call, params, context, token);
}
void ExitByStandby(uint32_t call, const void* params, CUresult result, uint64_t token) {
  if (token == kLeftToCupti) {
    left_to_cupti.fetch_sub(1);
    return;
  }
  ExitSeenCall(call, params, result, token);
  --in_hooks;
}

}  // namespace

vramspanLaunchSink SinkOfCupti(vramspanLaunchSink sink) {
  sink.enter = &EnterByCupti;
  sink.exit = &ExitByCupti;
  return sink;
}

vramspanLaunchSink SinkOfStandby(vramspanLaunchSink sink) {
  sink.enter = &EnterByStandby;
  sink.exit = &ExitByStandby;
  return sink;
}

bool LetHooksTakeOver() {
  constexpr std::chrono::seconds kPatience{1};
  hooks_took_over.store(true);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (left_to_cupti.load() != 0) {
    if (std::chrono::steady_clock::now() >= until) {
      hooks_took_over.store(false);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

void GiveBackToCupti() { hooks_took_over.store(false); }

}  // namespace vramspan
