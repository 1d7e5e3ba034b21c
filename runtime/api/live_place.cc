#include "runtime/api/live_place.h"

#include <absl/strings/str_cat.h>
#include <unistd.h>

#include <cstdlib>

#include "runtime/api/live_record.h"

namespace vramspan {

std::vector<UserFolder> LivePlaces() {
  std::vector<UserFolder> places;
  // Another user's variable is in the environment of programs that changed their user.
  const char* const variable = secure_getenv("XDG_RUNTIME_DIR");
  if (variable != nullptr && *variable == '/') places.push_back({variable, "vramspan"});
  places.push_back({"/dev/shm", absl::StrCat("vramspan-", geteuid()), /*shared=*/true});
  return places;
}

std::string LiveName(uint64_t space, uint32_t pid, uint32_t serial) {
  return absl::StrCat(kLivePrefix, space, "-", pid, "-", serial, ".v",
                      std::string(1, kLiveVersion));
}

}  // namespace vramspan
