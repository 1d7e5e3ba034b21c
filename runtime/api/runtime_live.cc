// What a runtime shows of itself while it runs.
#include <cstdlib>
#include <string_view>

#include "runtime/api/live_place.h"
#include "runtime/api/runtime.h"
#include "runtime/base/clean_text.h"

namespace vramspan {

Status Runtime::ShowLive(LiveDevice device) {
  const char* const variable = std::getenv(kLiveVariable);
  const std::string_view text = variable != nullptr ? variable : "";
  if (text == "off") return absl::OkStatus();
  if (!text.empty() && text != "on") {
    return absl::InvalidArgumentError(
        absl::StrCat(kLiveVariable, ": '", Repeated(text), "' is not a way; use on or off"));
  }
  device.memory = total_;
  if (tracer_ != nullptr) device.flags |= LiveRecord::kTraced;
  if (lease_ != nullptr) device.flags |= LiveRecord::kBrokered;
  live_ = std::make_unique<LiveShow>(
      device,
      [this] {
        LiveNumbers now;
        now.statistics = Statistics();
        now.charged = memory_->counts().charged;
        now.was_short = memory_->supply().host_used();
        now.moved = mover_->statistics().made;
        return now;
      },
      LivePlaces());
  showing_.Use(live_.get());
  return absl::OkStatus();
}

}  // namespace vramspan
