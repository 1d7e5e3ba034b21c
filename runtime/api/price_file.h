// A device's prices on disk: what `vramspan info` measured, for the runtimes that come after it.
// ${XDG_CACHE_HOME:-~/.cache}/vramspan/<uuid>.prices, a few lines of text:
//
//   vramspan-prices 1
//   driver 13000
//   serve_gb_per_s 51.100
//   move_gb_per_s 39.800
//
// Parsed as if a stranger had written it: at most kMostPriceText bytes, every line known, every
// figure within reason.
#ifndef VRAMSPAN_RUNTIME_API_PRICE_FILE_H_
#define VRAMSPAN_RUNTIME_API_PRICE_FILE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/backing/costs.h"
#include "runtime/base/status.h"
#include "runtime/placement/prices.h"

namespace vramspan {

inline constexpr size_t kMostPriceText = 1024;

// The path of a device's file with this ending (".prices"). An error where there is no place for it
// (neither variable is an absolute path) or the id cannot be a file name.
StatusOr<std::string> CacheFile(const std::string& uuid, std::string_view ending);

// A move's rate is that of whichever takes longer, the copies both ways or the calls that remap.
Prices PricesOf(const DeviceCosts& costs);

std::string PricesText(const Prices& prices, int driver);
// FailedPrecondition for a file of another version or driver, InvalidArgument for one that makes no
// sense; each names what is wrong.
StatusOr<Prices> ParsePrices(std::string_view text, int driver);

// The file at `path`; NotFound where there is none.
StatusOr<Prices> ReadPrices(const std::string& path, int driver);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_PRICE_FILE_H_
