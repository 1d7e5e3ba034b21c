// Which allocations are kept on the device because a profile says so (vramspan tune). Pure: the
// runtime and the replay keep the same ones.
//
// Addresses change from run to run, so an allocation is known by its size and by how many of that
// size were made before it. What is kept is never more than half the budget: the rest must be able
// to move, or nothing does. What does not fit waits, and is kept when there is room for it.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_PINS_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_PINS_H_

#include <absl/types/span.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/units.h"

namespace vramspan {

inline constexpr size_t kMostPins = 256;

struct Pin {
  // Smaller allocations are packed with others, and never leave.
  static constexpr Bytes kLeast = MiB(1) + Bytes(1);
  static constexpr Bytes kMost = GiB(16 << 10);
  static constexpr uint32_t kMostNth = 1'000'000;

  Bytes size;
  uint32_t nth = 0;  // Of those of this size, from 1.

  // What it takes of the device.
  Bytes charged() const { return RoundUp(size, kGranularity); }
  bool operator==(const Pin&) const = default;
};

// The most that may be kept.
constexpr Bytes KeptShare(Bytes budget) { return Bytes(budget.value / 2); }

// The pins one after another, in digits: "8388608" and "3" for the third of 8 MiB. InvalidArgument
// says what is absurd of the pin, or how it contradicts those before it.
Status AddPin(std::string_view size, std::string_view nth, std::vector<Pin>* pins);
// "8388608:3,8388608:4", as VRAMSPAN_KEEP has it.
StatusOr<std::vector<Pin>> ParsePins(std::string_view text);
std::string PinsText(absl::Span<const Pin> pins);

// Threads: not safe.
class Pins {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Change {
    uint32_t pin;
    bool keep;
  };

  // REQUIRES: as ParsePins gives them.
  Pins(std::vector<Pin> pins, Bytes budget);

  // The program has made an allocation. The index of its pin, or kNone.
  uint32_t Made(Bytes size);
  // What was made as this pin is freed.
  void Gone(uint32_t pin);
  void SetBudget(Bytes budget) { budget_ = budget; }
  // What is to be done since this was asked last. In the order in which they were made, what fits
  // into what those before it left is kept.
  std::vector<Change> Changes();

  const Pin& at(uint32_t pin) const { return pins_[pin].pin; }

 private:
  struct State {
    Pin pin;
    uint32_t seen = 0;  // Of its size were made.
    bool kept = false;
  };

  std::vector<State> pins_;
  std::vector<uint32_t> live_;  // In the order in which they were made.
  Bytes budget_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_PINS_H_
