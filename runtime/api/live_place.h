// Where live records lie: in a folder that only the user may read.
//
// Threads: any.
#ifndef VRAMSPAN_RUNTIME_API_LIVE_PLACE_H_
#define VRAMSPAN_RUNTIME_API_LIVE_PLACE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/user_folder.h"

namespace vramspan {

// Off: the process shows nothing of itself.
inline constexpr char kLiveVariable[] = "VRAMSPAN_TOP";

// What names of records begin with. What comes after the last point is the version.
inline constexpr std::string_view kLivePrefix = "live-";

// Where a process of this user puts its record, the best first.
std::vector<UserFolder> LivePlaces();

// The name of a record's file. Processes of two containers may have the same number.
std::string LiveName(uint64_t space, uint32_t pid, uint32_t serial);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_LIVE_PLACE_H_
