#include "runtime/placement/pins.h"

#include <absl/algorithm/container.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <utility>

#include "runtime/base/clean_text.h"
#include "runtime/base/digits.h"

namespace vramspan {

Status AddPin(std::string_view size, std::string_view nth, std::vector<Pin>* pins) {
  uint64_t bytes = 0, number = 0;
  if (!ParseDigits(size, &bytes) || bytes < Pin::kLeast.value || bytes > Pin::kMost.value) {
    return absl::InvalidArgumentError(absl::StrCat(
        "should keep an allocation of ", Pin::kLeast.value, " to ", Pin::kMost.value, " bytes"));
  }
  if (!ParseDigits(nth, &number) || number < 1 || number > Pin::kMostNth) {
    return absl::InvalidArgumentError(absl::StrCat(
        "should say which allocation of that size to keep, from 1 to ", Pin::kMostNth));
  }
  const Pin pin{.size = Bytes(bytes), .nth = static_cast<uint32_t>(number)};
  if (absl::c_linear_search(*pins, pin)) {
    return absl::InvalidArgumentError(
        absl::StrCat("keeps allocation ", number, " of ", bytes, " bytes a second time"));
  }
  if (pins->size() == kMostPins) {
    return absl::InvalidArgumentError(
        absl::StrCat("is one allocation too many to keep; keep at most ", kMostPins));
  }
  pins->push_back(pin);
  return absl::OkStatus();
}

StatusOr<std::vector<Pin>> ParsePins(std::string_view text) {
  std::vector<Pin> pins;
  if (text.empty()) return pins;
  for (const std::string_view word : absl::StrSplit(text, ',')) {
    const std::pair<std::string_view, std::string_view> parts =
        absl::StrSplit(word, absl::MaxSplits(':', 1));
    const Status status = AddPin(parts.first, parts.second, &pins);
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("'", Repeated(word), "' ", status.message()));
    }
  }
  return pins;
}

std::string PinsText(absl::Span<const Pin> pins) {
  return absl::StrJoin(pins, ",", [](std::string* out, const Pin& pin) {
    absl::StrAppend(out, pin.size.value, ":", pin.nth);
  });
}

Pins::Pins(std::vector<Pin> pins, Bytes budget) : budget_(budget) {
  for (const Pin& pin : pins) pins_.push_back({.pin = pin});
}

uint32_t Pins::Made(Bytes size) {
  uint32_t made = kNone;
  for (uint32_t i = 0; i < pins_.size(); ++i) {
    State& s = pins_[i];
    // No further than the pin, so it cannot come round again.
    if (s.pin.size != size || s.seen == s.pin.nth || ++s.seen != s.pin.nth) continue;
    made = i;
    live_.push_back(i);
  }
  return made;
}

void Pins::Gone(uint32_t pin) {
  live_.erase(absl::c_find(live_, pin));
  pins_[pin].kept = false;
}

std::vector<Pins::Change> Pins::Changes() {
  std::vector<Change> changes;
  Bytes left = KeptShare(budget_);
  for (const uint32_t i : live_) {
    State& s = pins_[i];
    const bool keep = s.pin.charged() <= left;
    if (keep) left -= s.pin.charged();
    if (s.kept != keep) changes.push_back({i, keep});
    s.kept = keep;
  }
  return changes;
}

}  // namespace vramspan
