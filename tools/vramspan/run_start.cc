#include "tools/vramspan/run_start.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "runtime/base/variables.h"
#include "tools/vramspan/command.h"
#include "tools/vramspan/loader_path.h"
#include "tools/vramspan/open_driver.h"
#include "tools/vramspan/program_file.h"

namespace vramspan::run {
namespace {

StatusOr<std::string> PreloadLibrary() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  std::string looked = "/proc/self/exe";
  if (!error) {
    looked.clear();
    for (const char* place : {"../lib/libvramspan_preload.so", VRAMSPAN_PRELOAD_INSTALLED}) {
      const std::filesystem::path path = (self.parent_path() / place).lexically_normal();
      if (std::filesystem::is_regular_file(path, error)) return path.string();
      looked += (looked.empty() ? "" : " nor at ") + path.string();
    }
  }
  return absl::NotFoundError("libvramspan_preload.so is neither at " + looked +
                             "; build the target vramspan_preload, or install it");
}

}  // namespace

StatusOr<Plan> PlanFor(std::string_view who, const std::string& program, const Options& options,
                       bool matters) {
  World world;
  world.variable = [](const char* name) -> const char* { return std::getenv(name); };
  world.unknown = UnknownVariables(environ);
  world.simulated_driver = &SimulatedDriver;
  world.largest_device = &LargestDevice;
  world.exists = [](const std::string& path) {
    std::error_code error;  // A link that leads nowhere is there, too.
    return std::filesystem::exists(std::filesystem::symlink_status(path, error));
  };
  world.can_make = [](const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    return access(folder.c_str(), W_OK | X_OK) == 0;
  };
  world.can_append = [](const std::string& path) {
    std::error_code error;
    return std::filesystem::is_regular_file(path, error) && access(path.c_str(), W_OK) == 0;
  };
  world.for_loader = [](const std::string& path) { return LoaderPath(path, PlacesForLinks()); };
  world.say = [who](const std::string& text) { SayError(who, text); };
  VS_ASSIGN_OR_RETURN(world.preload, PreloadLibrary());
  const Reach reach = ReachOf(program);
  world.preloads = !reach.complains;
  VS_ASSIGN_OR_RETURN(Plan plan, MakePlan(options, world));
  // The programs that the loader puts no preload into run as they are. Who asked for nothing but
  // the program is told where that changes what it starts.
  if (!reach.why_not.empty() && (reach.complains || matters)) {
    SayError(who, absl::StrCat(program, " runs as without vramspan, because it ", reach.why_not,
                               reach.children ? "" : ", and so does what it starts"));
  }
  return plan;
}

StatusOr<std::string> AbsolutePaths(std::string_view option, std::string_view paths) {
  std::vector<std::string> absolute;
  for (const std::string_view path : absl::StrSplit(paths, ':', absl::SkipEmpty())) {
    absolute.push_back(std::filesystem::absolute(path).string());
  }
  if (!absolute.empty()) return absl::StrJoin(absolute, ":");
  return absl::InvalidArgumentError(absl::StrCat(option, ": '", paths, "' is not a file"));
}

}  // namespace vramspan::run
