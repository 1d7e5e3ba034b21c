#include "runtime/preload/process.h"

#include <absl/strings/str_cat.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "runtime/base/clean_text.h"
#include "runtime/base/log.h"
#include "runtime/base/yes_no.h"
#include "runtime/preload/aside.h"
#include "runtime/preload/ipc.h"
#include "runtime/preload/launch.h"

namespace vramspan::preload {
namespace {

constinit std::atomic<bool> ready{false};
constinit std::atomic<bool> initialised{false};
constinit std::atomic<bool> used{false};
constinit std::atomic<bool> inherited{false};  // Used by a parent.

bool IsSet(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr && ParseYesNo(text).value_or(false);
}

// `vramspan run` refuses it; here the program's run matters more.
void SayWhatIsNeitherYesNorNo() {
  for (const char* variable : {"VRAMSPAN_OFF", "VRAMSPAN_QUIET"}) {
    const char* text = std::getenv(variable);
    if (text == nullptr || *text == '\0' || ParseYesNo(text).has_value()) continue;
    Log(LogLevel::kWarning, absl::StrCat(variable, ": '", CleanText(text),
                                         "' is taken for no; allowed is ", kYesNoWords));
  }
}

void AfterForkInChild() {
  StopWatching();
  LeaveExportsToParent();
  ready.store(false, std::memory_order_relaxed);
  initialised.store(false, std::memory_order_relaxed);
  if (used.load(std::memory_order_relaxed)) inherited.store(true, std::memory_order_relaxed);
}

void WatchForks() {
  static constinit std::atomic_flag done = ATOMIC_FLAG_INIT;
  if (!done.test_and_set()) pthread_atfork(nullptr, nullptr, &AfterForkInChild);
}

}  // namespace

bool Off() {
  // Not a local with a guard: this may run before main, in a constructor under the loader's lock.
  enum : int { kUnknown, kNo, kYes };
  static constinit std::atomic<int> state{kUnknown};
  int s = state.load(std::memory_order_relaxed);
  if (s == kUnknown) {
    s = IsSet("VRAMSPAN_OFF") ? kYes : kNo;
    state.store(s, std::memory_order_relaxed);
  }
  return s == kYes;
}

bool Quiet() { return IsSet("VRAMSPAN_QUIET"); }

bool Ready() { return ready.load(std::memory_order_acquire); }

void NoteUsed() { used.store(true, std::memory_order_relaxed); }

CUresult Init(decltype(&::cuInit) real, unsigned flags) {
  const CUresult result = real(flags);
  if (result != CUDA_SUCCESS || Ready()) return result;
  const bool first = !initialised.exchange(true, std::memory_order_relaxed);
  if (Off()) {
    if (first) StandAsideAsAsked("in this process", "VRAMSPAN_OFF");
    return result;
  }
  if (first) {
    SayWhatIsNeitherYesNorNo();
    if (Quiet()) SetLogThreshold(std::min(LogThreshold(), LogLevel::kError));
  }
  if (inherited.load(std::memory_order_relaxed)) {
    if (first) StandAside("in this process", "it is a fork of one that had allocated memory");
    return result;
  }
  WatchForks();
  ready.store(true, std::memory_order_release);
  return result;
}

}  // namespace vramspan::preload
