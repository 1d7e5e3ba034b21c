#include "runtime/api/price_file.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "runtime/base/clean_text.h"
#include "runtime/base/small_file.h"

namespace vramspan {
namespace {

constexpr std::string_view kFirstLine = "vramspan-prices 1";
constexpr double kLeast = 0.01, kMost = 100000;  // GB/s

double Within(double rate) { return std::clamp(rate, kLeast, kMost); }

}  // namespace

StatusOr<std::string> CacheFile(const std::string& uuid, std::string_view ending) {
  const bool is_name =
      !uuid.empty() && uuid.size() <= 64 && std::all_of(uuid.begin(), uuid.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-';
      });
  if (!is_name) {
    return absl::InvalidArgumentError(
        absl::StrCat("the device's id '", Repeated(uuid), "' cannot name a file"));
  }
  // The base directory specification: a relative path in the variable is to be ignored.
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  if (xdg != nullptr && xdg[0] == '/') return absl::StrCat(xdg, "/vramspan/", uuid, ending);
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') {
    return absl::StrCat(home, "/.cache/vramspan/", uuid, ending);
  }
  return absl::NotFoundError("neither XDG_CACHE_HOME nor HOME is set to an absolute path");
}

Prices PricesOf(const DeviceCosts& costs) {
  Prices prices;
  if (costs.kernel_read.has_value() && *costs.kernel_read > 0) {
    prices.serve_gb_per_s = Within(*costs.kernel_read);
  } else if (costs.copy_to_device > 0) {
    prices.serve_gb_per_s = Within(costs.copy_to_device);
  }
  // The largest chunk that was measured on both sides: what large allocations get.
  for (size_t i = costs.chunks.size(); i-- > 0;) {
    const ChunkCosts& c = costs.chunks[i];
    if (!c.device.has_value() || !c.host.has_value() || costs.copy_both <= 0) continue;
    const auto bytes = static_cast<double>(ChunkBytes(kMinChunkLog2 + static_cast<int>(i)).value);
    const double remaps = 1e3 * (c.device->map + c.device->access + c.device->unmap + c.host->map +
                                 c.host->access + c.host->unmap);
    const double copies = 2 * bytes / costs.copy_both;
    prices.move_gb_per_s = Within(bytes / std::max(copies, remaps));
    break;
  }
  return prices;
}

std::string PricesText(const Prices& prices, int driver) {
  return absl::StrFormat("%s\ndriver %d\nserve_gb_per_s %.3f\nmove_gb_per_s %.3f\n", kFirstLine,
                         driver, prices.serve_gb_per_s, prices.move_gb_per_s);
}

StatusOr<Prices> ParsePrices(std::string_view text, int driver) {
  if (text.size() > kMostPriceText) {
    return absl::InvalidArgumentError(absl::StrCat("the file is longer than ", kMostPriceText,
                                                   " bytes, so vramspan did not write it"));
  }
  std::vector<std::string_view> lines = absl::StrSplit(text, '\n');
  if (lines.front() != kFirstLine) {
    return absl::FailedPreconditionError(
        absl::StrCat("the first line is not \"", kFirstLine, "\"; run `vramspan info` again"));
  }
  if (lines.size() != 5 || !lines.back().empty()) {
    return absl::InvalidArgumentError(
        "the file does not hold the four lines that `vramspan info` writes");
  }
  if (lines[1] != absl::StrCat("driver ", driver)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the costs were measured with another driver; run `vramspan info` again"));
  }
  Prices prices;
  const struct {
    std::string_view line, name;
    double* value;
  } fields[] = {{lines[2], "serve_gb_per_s ", &prices.serve_gb_per_s},
                {lines[3], "move_gb_per_s ", &prices.move_gb_per_s}};
  for (const auto& field : fields) {
    const bool named = field.line.starts_with(field.name);
    if (!named || !absl::SimpleAtod(field.line.substr(field.name.size()), field.value) ||
        !(*field.value >= kLeast && *field.value <= kMost)) {
      return absl::InvalidArgumentError(absl::StrCat("'", Repeated(field.line), "' should be ",
                                                     field.name, "and a rate from ", kLeast, " to ",
                                                     kMost));
    }
  }
  return prices;
}

StatusOr<Prices> ReadPrices(const std::string& path, int driver) {
  VS_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMostPriceText));
  StatusOr<Prices> prices = ParsePrices(text, driver);
  if (prices.ok()) return prices;
  return Status(prices.status().code(), absl::StrCat(path, ": ", prices.status().message()));
}

}  // namespace vramspan
