#include "runtime/preload/process.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "runtime/base/clean_text.h"
#include "runtime/base/log.h"
#include "runtime/base/yes_no.h"
#include "runtime/preload/aside.h"

namespace vramspan::preload {
namespace {

// Where cuInit has succeeded, also with VRAMSPAN_OFF.
constinit std::atomic<OwnProcess> initialised{OwnProcess()};

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

CUresult Init(decltype(&::cuInit) real, unsigned flags) {
  const CUresult result = real(flags);
  if (result != CUDA_SUCCESS || Ready()) return result;
  const bool first = !initialised.exchange(OwnProcess::This(), std::memory_order_relaxed).Here();
  if (Off()) {
    if (first) StandAsideAsAsked("in this process", "VRAMSPAN_OFF");
    return result;
  }
  if (first) {
    SayWhatIsNeitherYesNorNo();
    if (Quiet()) SetLogThreshold(std::min(LogThreshold(), LogLevel::kError));
  }
  ready_in.store(OwnProcess::This(), std::memory_order_release);
  return result;
}

}  // namespace vramspan::preload
