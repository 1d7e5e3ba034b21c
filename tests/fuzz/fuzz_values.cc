// What a user gives: sizes, percentages, lists. Whatever it is, a message is one line of text.
#include <string>
#include <string_view>

#include "runtime/backing/budget.h"
#include "runtime/base/clean_text.h"
#include "runtime/base/digits.h"
#include "runtime/base/log.h"
#include "runtime/base/yes_no.h"
#include "runtime/placement/kernel_prices.h"
#include "runtime/placement/pins.h"
#include "runtime/placement/policy.h"

namespace {

void CheckMessage(const vramspan::Status& status) {
  if (status.ok()) return;
  VS_CHECK(status.message().size() < 1024);
  VS_CHECK(vramspan::CleanText(status.message()) == status.message());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vramspan;  // NOLINT
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const StatusOr<Bytes> bytes = ParseSize(text);
  CheckMessage(bytes.status());
  if (bytes.ok()) {
    VS_CHECK(bytes->value != 0);
    const StatusOr<Bytes> again = ParseSize(std::to_string(bytes->value));
    VS_CHECK(again.ok() && *again == *bytes);
  }
  const StatusOr<Bytes> budget = ParseBudget(text, GiB(80));
  CheckMessage(budget.status());
  if (budget.ok() && text.ends_with('%')) VS_CHECK(*budget <= GiB(80));
  CheckMessage(MakePolicy(text).status());
  CheckMessage(ParsePins(text).status());
  CheckMessage(ParseKernelPrices(text).status());
  uint64_t digits = 0;
  if (ParseDigits(text, &digits)) VS_CHECK(text.find_first_of("+- ") == text.npos);
  static_cast<void>(ParseYesNo(text));
  const std::string clean = CleanText(text, 100);
  VS_CHECK(clean.size() <= 103 && CleanText(clean) == clean);
  return 0;
}
