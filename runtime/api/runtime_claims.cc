// What a runtime does where no broker shares its device out: its budget is what other programs of
// its user leave (runtime/backing/device_room.h).
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "runtime/api/runtime.h"
#include "runtime/base/clean_text.h"
#include "runtime/base/log.h"
#include "runtime/base/uncancellable.h"

namespace vramspan {
namespace {

constexpr char kClaimsVariable[] = "VRAMSPAN_CLAIMS";

// Whether claims are wanted; an error where the variable says nothing that is understood.
StatusOr<bool> ClaimsWanted() {
  const char* const variable = std::getenv(kClaimsVariable);
  const std::string_view text = variable != nullptr ? variable : "";
  if (text == "auto") return true;
  // Until its known faults are mended (docs/budgets.md).
  if (text.empty() || text == "off") return false;
  return absl::InvalidArgumentError(
      absl::StrCat(kClaimsVariable, ": '", Repeated(text), "' is not a way; use auto or off"));
}

}  // namespace

Status Runtime::ShareByClaims(const std::string& device_uuid, bool device_given,
                              MemoryOptions* memory) {
  VS_ASSIGN_OR_RETURN(const bool wanted, ClaimsWanted());
  if (!wanted || lease_ != nullptr) return absl::OkStatus();
  // Another user's variable is in the environment of programs that changed their user.
  const char* const variable = secure_getenv("XDG_RUNTIME_DIR");
  const std::string folder = variable != nullptr && *variable == '/' ? variable : "";
  auto free = [driver = driver_, context = context_]() -> StatusOr<Bytes> {
    const ScopedContext current(*driver, context);
    VS_RETURN_IF_ERROR(current.status());
    size_t bytes = 0, total = 0;
    VS_RETURN_IF_ERROR(Check((*driver)->MemGetInfo(&bytes, &total), "cuMemGetInfo"));
    return Bytes(bytes);
  };
  auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); };
  auto now = [] { return Instant(std::chrono::steady_clock::now().time_since_epoch()); };
  room_ = std::make_unique<DeviceRoom>(DeviceRoomOptions{.folder = folder,
                                                         .device_uuid = device_uuid,
                                                         .total = total_,
                                                         .free = std::move(free),
                                                         .now = now,
                                                         .pause = pause});
  const DeviceRoom::Start start = room_->Begin(memory->device_budget, device_given);
  if (!start.status.ok() && !folder.empty()) {
    Log(LogLevel::kInfo,
        absl::StrCat("other programs of this user are not seen: ", start.status.message()));
  }
  memory->device_budget = start.budget;
  memory->expected_budget = start.expected;
  memory->room = room_.get();
  return absl::OkStatus();
}

void Runtime::AwaitRoom(Bytes size) {
  const Bytes needs = RoundUp(std::min(size, total_), kGranularity);
  if (!room_->shared() || memory_->device_pool().available() >= needs) return;
  const Uncancellable now;
  // What only waits for a drain is there at once.
  if (memory_->freed().any()) {
    driver_->RecordBackgroundError(memory_->freed().DrainAndReclaim());
  }
  room_->Await(needs);
}

}  // namespace vramspan
