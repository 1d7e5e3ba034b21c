#include "tools/vramspan/replay_options.h"

#include <absl/algorithm/container.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "runtime/api/price_file.h"
#include "runtime/backing/budget.h"
#include "runtime/base/clean_text.h"
#include "runtime/base/log.h"
#include "runtime/base/small_file.h"
#include "runtime/placement/policy.h"
#include "tools/vramspan/info_cache.h"

namespace vramspan::replay {
namespace {

constexpr size_t kMostPriceBytes = 1 << 20;

MapCosts Of(const HandleCosts& costs) {
  return {costs.map, costs.access, costs.unmap, costs.create, costs.release};
}

bool HasCosts(const nlohmann::json& json) {
  return json.is_object() && json.contains("costs") && !json["costs"].is_null();
}

// Of the devices that `vramspan info` lists, the one with this id, or the only one of which it
// knows the costs. Null where that is not one.
const nlohmann::json* DeviceIn(const nlohmann::json& devices, const std::string& uuid) {
  if (!devices.is_array()) return &devices;
  const nlohmann::json* found = &devices;  // Which has no costs.
  size_t count = 0;
  for (const nlohmann::json& device : devices) {
    if (!HasCosts(device)) continue;
    if (!uuid.empty() && device.value("uuid", nlohmann::json()) == uuid) return &device;
    found = &device;
    ++count;
  }
  return count > 1 ? nullptr : found;
}

ReplayPrices PricesFrom(const DeviceCosts& costs) {
  ReplayPrices prices;
  prices.decisions = PricesOf(costs);
  if (costs.copy_to_device > 0) prices.copy_in = costs.copy_to_device;
  if (costs.copy_to_host > 0) prices.copy_out = costs.copy_to_host;
  // Without a figure of its own, both ways are as good as independent.
  prices.copy_both = costs.copy_both > 0 ? costs.copy_both : prices.copy_in + prices.copy_out;
  for (size_t i = 0; i < costs.chunks.size(); ++i) {
    if (costs.chunks[i].device.has_value()) prices.device[i] = Of(*costs.chunks[i].device);
    if (costs.chunks[i].host.has_value()) prices.host[i] = Of(*costs.chunks[i].host);
  }
  if (costs.hold_call > 0) prices.hold_call = costs.hold_call;
  if (costs.hold_release > 0) prices.hold_release = costs.hold_release;
  return prices;
}

}  // namespace

StatusOr<std::vector<std::string>> ParsePolicies(const std::string& text) {
  std::vector<std::string> all;
  for (const std::string_view name : PolicyNames()) all.emplace_back(name);
  all.emplace_back(kMinPolicy);
  if (text == "all") return all;
  std::vector<std::string> policies;
  for (std::string_view name : absl::StrSplit(text, ',')) {
    if (!absl::c_linear_search(all, name)) {
      return absl::InvalidArgumentError(absl::StrCat("--policy: there is no policy '",
                                                     Repeated(name), "'; use all, or a list of ",
                                                     absl::StrJoin(all, ", ")));
    }
    if (!absl::c_linear_search(policies, name)) policies.emplace_back(name);
  }
  return policies;
}

StatusOr<std::vector<int>> ParseChunks(const std::string& text) {
  std::vector<int> chunks;
  for (const std::string_view part : absl::StrSplit(text, ',')) {
    int log2 = 0;
    if (part != "auto") {
      const StatusOr<Bytes> size = ParseSize(part);
      if (!size.ok() || !std::has_single_bit(size->value) || *size < ChunkBytes(kMinChunkLog2) ||
          *size > ChunkBytes(kMaxChunkLog2)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "--chunk: '", Repeated(part),
            "' is not a chunk size; use a list of auto, 2MiB, 4MiB, 8MiB, 16MiB, 32MiB and 64MiB"));
      }
      log2 = std::countr_zero(size->value);
    }
    if (!absl::c_linear_search(chunks, log2)) chunks.push_back(log2);
  }
  return chunks;
}

StatusOr<ReplayOverlap> ParseReplayOverlap(const std::string& text) {
  const std::optional<ReplayOverlap> overlap = ReplayOverlapOf(text);
  if (overlap.has_value()) return *overlap;
  return absl::InvalidArgumentError(
      absl::StrCat("--overlap: '", Repeated(text),
                   "' is not a way to overlap; use auto, off, proven, safe, all or declared"));
}

StatusOr<std::vector<ReplayOverlap>> OverlapsFor(const std::string& asked, const RecordedRun& run) {
  const std::string& recorded = run.setting.overlap;
  const std::string text = !asked.empty()     ? asked
                           : recorded.empty() ? vramspan::OverlapName(kDefaultOverlap)
                                              : recorded;
  std::vector<ReplayOverlap> overlaps;
  for (const std::string_view word : absl::StrSplit(text, ',')) {
    VS_ASSIGN_OR_RETURN(overlaps.emplace_back(), ParseReplayOverlap(std::string(word)));
  }
  return overlaps;
}

std::vector<std::string> TrustNotes(const std::string& asked,
                                    const std::vector<ReplayOverlap>& overlaps,
                                    const RecordedRun& run) {
  std::vector<std::string> notes;
  if (asked.empty() && run.setting.overlap.empty()) return notes;
  for (const ReplayOverlap overlap : overlaps) {
    if (run.setting.trust_told ||
        (overlap != ReplayOverlap::kAuto && overlap != ReplayOverlap::kProven)) {
      continue;
    }
    notes.push_back(
        absl::StrCat("the recording does not tell how far kernels were trusted, so "
                     "overlap ",
                     OverlapName(overlap), " counts as off"));
  }
  return notes;
}

StatusOr<std::vector<Budget>> ParseBudgets(const std::string& text, Bytes peak) {
  std::vector<Budget> budgets;
  for (const std::string_view part : absl::StrSplit(text, ',')) {
    const StatusOr<Bytes> bytes = ParseBudget(part, peak);
    if (!bytes.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--device-memory: ", bytes.status().message()));
    }
    Budget budget{*bytes, std::nullopt};
    double percent = 0;
    if (part.ends_with('%') && absl::SimpleAtod(part.substr(0, part.size() - 1), &percent)) {
      budget.percent = percent;
    }
    if (absl::c_none_of(budgets, [&](const Budget& b) { return b.bytes == budget.bytes; })) {
      budgets.push_back(budget);
    }
  }
  return budgets;
}

StatusOr<ReplayPrices> ReadReplayPrices(const std::string& path, const std::string& uuid) {
  VS_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMostPriceBytes));
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const nlohmann::json* of = &json;
  if (json.is_object() && json.contains("devices")) {
    of = DeviceIn(json["devices"], uuid);
    if (of == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(path,
                       " holds the prices of several devices, and none is the one that was "
                       "recorded; choose with `vramspan info --device NUMBER --format json`"));
    }
  }
  if (!HasCosts(*of)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path,
                     " holds no prices; give what `vramspan info --format json` prints, or the "
                     "file that it keeps of a device, ~/.cache/vramspan/UUID.json"));
  }
  const StatusOr<DeviceCosts> costs = info::CostsFromJson(of->at("costs"));
  if (costs.ok()) return PricesFrom(*costs);
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", costs.status().message()));
}

StatusOr<PricesOfDevice> PricesFor(const std::string& path, const RecordedRun& run) {
  if (!path.empty()) {
    const StatusOr<ReplayPrices> prices = ReadReplayPrices(path, run.setting.device_uuid);
    if (prices.ok()) return PricesOfDevice{*prices, path};
    // What a file holds is no mistake of the command line.
    return absl::FailedPreconditionError(prices.status().message());
  }
  const StatusOr<std::string> kept = info::CachePath(run.setting.device_uuid);
  std::error_code error;
  if (kept.ok() && std::filesystem::exists(*kept, error)) {
    const StatusOr<ReplayPrices> prices = ReadReplayPrices(*kept, run.setting.device_uuid);
    if (prices.ok()) return PricesOfDevice{*prices, *kept};
    Log(LogLevel::kWarning,
        CleanText(absl::StrCat(prices.status().message(), "; an H100's are taken")));
  }
  return PricesOfDevice{{}, "an H100's (`vramspan info --measure` measures a device's own)"};
}

}  // namespace vramspan::replay
