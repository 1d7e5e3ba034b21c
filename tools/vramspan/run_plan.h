// What `vramspan run` asks of the environment in which a program starts.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_RUN_PLAN_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_RUN_PLAN_H_

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "runtime/base/status.h"
#include "runtime/base/units.h"

namespace vramspan::run {

// None: not given on the command line, so that the variable of the same name counts.
struct Options {
  std::optional<std::string> device_memory, host_memory, chunk, policy, tracer, overlap, graphs,
      learned, read, report, broker,
      stats,  // "-" or an absolute path.
      trust,  // Absolute paths with colons between them, beside what the variable names.
      record_times;
  std::optional<std::string>
      profile;          // A file of `vramspan tune`, for what is not given otherwise,
  std::string program;  // and what is to be run: its words, a space between them.
  std::optional<std::string> record, record_events;  // Absolute paths,
  bool force = false;                                // which may be written over.
  bool simulate = false, quiet = false, off = false, no_command_line = false;
  bool lifetimes = false;
};

// What the plan depends on beside the options.
struct World {
  std::function<const char*(const char* name)> variable;    // getenv.
  std::string unknown;                                      // UnknownVariables.
  std::string preload;                                      // The library's path.
  std::function<StatusOr<std::string>()> simulated_driver;  // Its path.
  std::function<std::optional<Bytes>()> largest_device;     // None where that is not known.
  std::function<bool(const std::string& path)> exists;
  std::function<bool(const std::string& path)> can_make;    // A new file there.
  std::function<bool(const std::string& path)> can_append;  // To a file that is there.
  // A library's path as the variables of the loader can hold it.
  std::function<StatusOr<std::string>(const std::string& path)> for_loader;
  bool preloads = true;  // The loader of the program can be asked to preload.
  std::function<void(const std::string&)> say;  // Tells the user, who asked for it, what is not so.
};

using Plan = std::map<std::string, std::string>;

// Whether more is asked for on the command line than to start the program.
bool AsksForMore(const Options& options);

// The variables to set. InvalidArgument names what was asked for and cannot be.
StatusOr<Plan> MakePlan(const Options& options, const World& world);

// The memory of the machine's largest GPU, as its management library says without starting CUDA.
std::optional<Bytes> LargestDevice();

}  // namespace vramspan::run

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_RUN_PLAN_H_
