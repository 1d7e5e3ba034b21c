#include "tools/broker/server/options.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "runtime/base/clean_text.h"
#include "runtime/base/size_text.h"
#include "tools/broker/control/run_directory.h"
#include "tools/broker/server/listen_address.h"
#include "tools/broker/server/metrics_file.h"
#include "tools/broker/words/turns_text.h"

namespace vramspan::broker {
namespace {

std::string DefaultConfig() {
  if (geteuid() == 0) return "/etc/vramspan";
  const char* const config = std::getenv("XDG_CONFIG_HOME");
  if (config != nullptr && config[0] == '/') return absl::StrCat(config, "/vramspan");
  const char* const home = std::getenv("HOME");
  return home == nullptr ? std::string("/etc/vramspan") : absl::StrCat(home, "/.config/vramspan");
}

// A broker that has nothing to give would serve, and no word of it would say why nobody gets any.
Status CheckCapacity(const Capacity& capacity, const Settings& settings) {
  const Bytes reserve = settings.Reserve(capacity.device);
  if (capacity.device > reserve) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--capacity: device=", capacity.device.value >> 20, "MiB is no more than the ",
      reserve.value >> 20, " MiB that are kept in reserve; state more, as device=8GiB"));
}

}  // namespace

StatusOr<Capacity> ParseCapacity(std::string_view text) {
  std::optional<Bytes> device, host;
  const std::vector<std::string_view> parts = absl::StrSplit(text, ',');
  for (const std::string_view part : parts) {
    const std::vector<std::string_view> pair = absl::StrSplit(part, absl::MaxSplits('=', 1));
    const bool known = pair.size() == 2 && (pair[0] == "device" || pair[0] == "host");
    if (!known) {
      return absl::InvalidArgumentError(
          absl::StrCat("--capacity: '", Repeated(part), "' is not device=SIZE or host=SIZE"));
    }
    const StatusOr<Bytes> size = ParseSize(pair[1]);
    if (!size.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--capacity: ", size.status().message()));
    }
    (pair[0] == "device" ? device : host) = *size;
  }
  if (!device || !host) {
    return absl::InvalidArgumentError("--capacity: say both, as device=8GiB,host=16GiB");
  }
  return Capacity{*device, *host};
}

StatusOr<Options> ParseOptions(int argc, char** argv) {
  Options options;
  options.config = DefaultConfig();
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& name = words[i];
    const bool known = name == "--run-directory" || name == "--config" || name == "--capacity" ||
                       name == "--metrics" || name == "--metrics-file" || name == "--proc" ||
                       name == "--turns";
    if (!known) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", Repeated(name), "' was not expected; see `vramspan broker serve --help`"));
    }
    if (i + 1 == words.size())
      return absl::InvalidArgumentError(absl::StrCat(name, ": its value is missing"));
    const std::string& value = words[++i];
    if (name == "--run-directory") options.run_directory = value;
    if (name == "--config") options.config = value;
    if (name == "--proc") options.proc = value;
    if (name == "--turns") {
      VS_ASSIGN_OR_RETURN(options.settings.turns.on, ParseTurns(value));
    }
    if (name == "--metrics") {
      VS_RETURN_IF_ERROR(ParseListenAddress(value).status());
      options.metrics = value;
    }
    if (name == "--metrics-file") {
      VS_RETURN_IF_ERROR(CheckMetricsPath(value));
      options.metrics_file = value;
    }
    if (name != "--capacity") continue;
    VS_ASSIGN_OR_RETURN(options.capacity, ParseCapacity(value));
  }
  if (options.capacity) VS_RETURN_IF_ERROR(CheckCapacity(*options.capacity, options.settings));
  if (options.run_directory.empty()) {
    VS_ASSIGN_OR_RETURN(options.run_directory, OwnRunDirectory());
  }
  return options;
}

}  // namespace vramspan::broker
