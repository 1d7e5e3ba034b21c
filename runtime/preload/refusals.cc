#include "runtime/preload/refusals.h"

#include <absl/strings/str_cat.h>

#include <atomic>

#include "runtime/base/log.h"

namespace vramspan::preload {

CUresult Told(const Status& status) {
  if (status.ok()) return CUDA_SUCCESS;
  static constinit std::atomic<bool> said{false};
  if (absl::IsResourceExhausted(status) && !said.exchange(true, std::memory_order_relaxed)) {
    Log(LogLevel::kError, absl::StrCat("the program is out of memory: ", status.message(),
                                       " (said once; VRAMSPAN_LOG=info says it each time)"));
  } else {
    Log(LogLevel::kInfo, status.message());
  }
  return ToCuResult(status);
}

}  // namespace vramspan::preload
