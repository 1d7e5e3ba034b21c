// What a profile hands to a program in its environment, VRAMSPAN_KEEP and VRAMSPAN_KERNELS: a first
// byte that says which, and the value. What is read is what is written.
#include <string_view>

#include "runtime/base/log.h"
#include "runtime/placement/kernel_prices.h"
#include "runtime/placement/pins.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vramspan;  // NOLINT
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    const auto pins = ParsePins(text);
    if (!pins.ok()) return 0;
    const auto again = ParsePins(PinsText(*pins));
    VS_CHECK(again.ok() && *again == *pins);
    // The pins are made and freed again; at no time is more kept than is allowed.
    Pins kept(*pins, MiB(64));
    for (const Pin& pin : *pins) kept.Made(pin.size);
    uint64_t bytes = 0;
    for (const Pins::Change& change : kept.Changes()) {
      if (change.keep) bytes += kept.at(change.pin).charged().value;
    }
    VS_CHECK(bytes <= KeptShare(MiB(64)).value);
    return 0;
  }
  const auto prices = ParseKernelPrices(text);
  if (!prices.ok()) return 0;
  const auto again = ParseKernelPrices(KernelPricesText(*prices));
  VS_CHECK(again.ok() && *again == *prices);
  return 0;
}
