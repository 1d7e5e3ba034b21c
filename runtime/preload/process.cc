#include "runtime/preload/process.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "runtime/api/lease_budgets.h"
#include "runtime/base/clean_text.h"
#include "runtime/base/log.h"
#include "runtime/base/variables.h"
#include "runtime/base/yes_no.h"
#include "runtime/preload/aside.h"
#include "runtime/preload/torch_blocks.h"

namespace vramspan::preload {
namespace {

// Where cuInit has succeeded, also with VRAMSPAN_OFF.
constinit std::atomic<OwnProcess> initialised{OwnProcess()};
// Not a local with a guard: this may be asked before main, in a constructor under the loader's
// lock.
enum : int { kUnknown, kNo, kYes };
constinit std::atomic<int> off_state{kUnknown};
constinit std::atomic<const char*> off_why{"VRAMSPAN_OFF"};

bool IsSet(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr && ParseYesNo(text).value_or(false);
}

// `vramspan run` refuses it; here the program's run matters more.
void SayWhatIsNeitherYesNorNo() {
  for (const char* variable : {"VRAMSPAN_OFF", "VRAMSPAN_QUIET"}) {
    const char* text = std::getenv(variable);
    if (text == nullptr || *text == '\0' || ParseYesNo(text).has_value()) continue;
    Log(LogLevel::kWarning,
        absl::StrCat(variable, ": '", Repeated(text),
                     "' is neither yes nor no, and is taken for no; use ", kYesNoWords));
  }
}

}  // namespace

bool Off() {
  int s = off_state.load(std::memory_order_relaxed);
  if (s == kUnknown) {
    s = IsSet("VRAMSPAN_OFF") ? kYes : kNo;
    int unknown = kUnknown;  // Unless it was turned off meanwhile.
    if (!off_state.compare_exchange_strong(unknown, s, std::memory_order_relaxed)) s = unknown;
  }
  return s == kYes;
}

void TurnOff(const char* why) {
  off_why.store(why, std::memory_order_relaxed);
  if (off_state.exchange(kYes, std::memory_order_release) == kYes) return;
  // Else cuInit says so.
  if (initialised.load(std::memory_order_relaxed).Here()) StandAsideAsAsked("in this process", why);
}

bool Quiet() { return IsSet("VRAMSPAN_QUIET"); }

CUresult Init(decltype(&::cuInit) real, unsigned flags) {
  const CUresult result = real(flags);
  if (result != CUDA_SUCCESS || Ready()) return result;
  const bool first = !initialised.exchange(OwnProcess::This(), std::memory_order_relaxed).Here();
  if (first) FindTorch();
  if (Off()) {
    if (first) StandAsideAsAsked("in this process", off_why.load(std::memory_order_relaxed));
    return result;
  }
  // Each thread asks, until one was answered: none goes on beside one whose cuInit fails.
  if (const Status status = LeaseBudgets::CheckRequired(); absl::IsFailedPrecondition(status)) {
    Log(LogLevel::kError, absl::StrCat("cuInit fails: ", status.message()));
    initialised.store(OwnProcess(), std::memory_order_relaxed);
    return CUDA_ERROR_SYSTEM_NOT_READY;
  }
  if (first) {
    SayWhatIsNeitherYesNorNo();
    if (Quiet()) SetLogThreshold(std::min(LogThreshold(), LogLevel::kError));
    TellUnknownVariables();
  }
  ready_in.store(OwnProcess::This(), std::memory_order_release);
  return result;
}

}  // namespace vramspan::preload
