#include "runtime/preload/refusals.h"

#include <absl/strings/str_cat.h>

#include <atomic>

#include "runtime/base/log.h"
#include "runtime/driver/driver.h"

namespace vramspan::preload {

CUresult Refused(const Status& status) {
  static constinit std::atomic<bool> said{false};
  if (absl::IsResourceExhausted(status) && !said.exchange(true, std::memory_order_relaxed)) {
    Log(LogLevel::kWarning, absl::StrCat("the program is out of memory: ", status.message(),
                                         " (said once; VRAMSPAN_LOG=info says it each time)"));
  } else {
    Log(LogLevel::kInfo, status.message());
  }
  return ToCuResult(status);
}

}  // namespace vramspan::preload
