// Memory that the program itself maps and unmaps.
#include <absl/strings/str_format.h>

#include <chrono>
#include <thread>

#include "runtime/api/runtime.h"

namespace vramspan {
namespace {

// Work that only might use the memory is waited for as well, but not for ever.
constexpr std::chrono::seconds kPatience{10};
constexpr std::chrono::microseconds kPeriod{50};

}  // namespace

StatusOr<Memory::Loose> Runtime::MakeLoose(Bytes size) {
  StatusOr<Memory::Loose> loose = memory_->MakeLoose(size);
  if (memory_->filling()) {
    memory_->PrepareHost();
    mover_->WakeAndArm();
  }
  return loose;
}

StatusOr<Memory::Loose> Runtime::UnmapLoose(DevicePtr at, Bytes size) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    StatusOr<Memory::Loose> loose = memory_->UnmapLoose(at);
    if (!absl::IsUnavailable(loose.status())) {
      if (loose.ok() && tracer_ != nullptr) tracer_->Freed(at, size);
      return loose;
    }
    if (std::chrono::steady_clock::now() > end) {
      return absl::DeadlineExceededError(absl::StrFormat(
          "cannot unmap %d bytes at 0x%x: work that may use them has not finished in %d s",
          size.value, at.value, kPatience.count()));
    }
    mover_->Wake();
    std::this_thread::sleep_for(kPeriod);
  }
}

}  // namespace vramspan
