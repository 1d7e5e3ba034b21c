#include "tools/broker/control/run_directory.h"

#include <absl/strings/str_cat.h>
#include <unistd.h>

#include <cstdlib>

namespace vramspan::broker {
namespace {

constexpr char kSystem[] = "/run/vramspan";

// A variable that is a path from the root on; else nothing.
std::string PathIn(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && value[0] == '/' ? value : "";
}

}  // namespace

std::vector<std::string> RunDirectories() {
  const std::string named = PathIn("VRAMSPAN_BROKER");
  if (!named.empty()) return {named};
  std::vector<std::string> places = {kSystem};
  const std::string users = PathIn("XDG_RUNTIME_DIR");
  if (!users.empty()) places.push_back(absl::StrCat(users, "/vramspan"));
  return places;
}

StatusOr<std::string> OwnRunDirectory() {
  const std::string named = PathIn("VRAMSPAN_BROKER");
  if (!named.empty()) return named;
  if (geteuid() == 0) return std::string(kSystem);
  const std::string users = PathIn("XDG_RUNTIME_DIR");
  if (!users.empty()) return absl::StrCat(users, "/vramspan");
  return absl::FailedPreconditionError(
      "there is no folder to listen in: XDG_RUNTIME_DIR is not set; use --run-directory");
}

}  // namespace vramspan::broker
