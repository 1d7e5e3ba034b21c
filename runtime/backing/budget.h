// Budgets as users write them, and the defaults where they write none.
#ifndef VRAMSPAN_RUNTIME_BACKING_BUDGET_H_
#define VRAMSPAN_RUNTIME_BACKING_BUDGET_H_

#include <string_view>

#include "runtime/base/size_text.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"

namespace vramspan {

// ParseSize, or a percentage "50%" (0 < p <= 100, fractions allowed) of `whole`.
StatusOr<Bytes> ParseBudget(std::string_view text, Bytes whole);

// What the driver itself needs beside our chunks: modules loaded lazily, library workspaces, local
// memory, our second context. The larger of 1 GiB and 2.5 % of the device, but at most a tenth of
// what is free. docs/budgets.md says why that much.
Bytes DeviceHeadroom(Bytes total, Bytes free);

// Free device memory less the head-room, in whole granules.
Bytes DefaultDeviceBudget(Bytes total, Bytes free);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BACKING_BUDGET_H_
