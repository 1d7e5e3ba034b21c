// Measured costs on disk, so that they are measured once per device and driver:
// ${XDG_CACHE_HOME:-~/.cache}/vramspan/<uuid>.json. The file is checked as if a stranger had
// written it, and replaced by rename, so a reader sees a whole one or none.
//
//   {"schema": "vramspan.costs", "schema_version": 1, "uuid": TEXT, "driver": NUMBER,
//    "costs": COSTS}            COSTS as in `vramspan info --format json`
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_INFO_CACHE_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_INFO_CACHE_H_

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/backing/costs.h"
#include "runtime/base/status.h"

namespace vramspan::info {

nlohmann::ordered_json CostsToJson(const DeviceCosts& costs);
// Checks everything: kinds, ranges, the list of chunk sizes. The error names what is wrong.
StatusOr<DeviceCosts> CostsFromJson(const nlohmann::json& json);

// The path for a device; an error where there is no place for a cache (neither variable is set) or
// the id cannot be a file name.
StatusOr<std::string> CachePath(const std::string& uuid);

// NotFound where there is no file; FailedPrecondition for a file of another version, device or
// driver; InvalidArgument for one that makes no sense. All are reasons to measure.
StatusOr<DeviceCosts> ReadCache(const std::string& path, const std::string& uuid, int driver);
Status WriteCache(const std::string& path, const std::string& uuid, int driver,
                  const DeviceCosts& costs);
// What runtimes on this device are to decide by, beside the cache (runtime/api/price_file.h).
Status WritePrices(const std::string& uuid, int driver, const DeviceCosts& costs);

}  // namespace vramspan::info

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_INFO_CACHE_H_
