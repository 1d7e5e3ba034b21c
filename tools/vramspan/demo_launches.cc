#include "tools/vramspan/demo_launches.h"

#include <absl/strings/str_cat.h>

#include <cstdlib>

#include "runtime/api/tracing.h"
#include "tools/vramspan/demo_text.h"

namespace vramspan::demo {
namespace {

// Every kernel of the demo stays within arrays that its parameters name, so what `safe` trusts
// holds for it.
Launches Declared(std::string why) { return {.why_declared = std::move(why)}; }

}  // namespace

Status CheckOverlap(const std::string& overlap) { return ParseOverlap(overlap).status(); }

StatusOr<Launches> ChooseLaunches(bool declare, const std::string& overlap,
                                  const std::shared_ptr<const Driver>& driver) {
  if (declare) return Declared("--declare");
  constexpr const char* kVariable = "VRAMSPAN_TRACER";
  const StatusOr<LaunchSource> source = ParseLaunchSource(OrDefault("", kVariable, "auto"));
  if (!source.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(kVariable, ": ", source.status().message()));
  }
  if (*source == LaunchSource::kOff) return Declared(absl::StrCat(kVariable, "=off"));
  const Status started = Tracing::Get().Start(driver, *source);
  if (started.ok()) {
    return Launches{
        .traced = true,
        .overlap = OrDefault(overlap, "VRAMSPAN_OVERLAP", OverlapName(kDefaultOverlap))};
  }
  if (*source == LaunchSource::kAuto) return Declared(std::string(started.message()));
  return Status(started.code(), absl::StrCat(kVariable, ": ", started.message()));
}

std::string LaunchesText(const Launches& launches) {
  if (!launches.traced) return absl::StrCat("declared (", launches.why_declared, ")");
  return absl::StrCat("traced by CUPTI, nothing is declared, overlap ", launches.overlap);
}

}  // namespace vramspan::demo
