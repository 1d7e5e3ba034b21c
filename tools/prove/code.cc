#include "tools/prove/code.h"

#include <utility>

#include "tools/prove/conditions.h"
#include "tools/prove/effect.h"
#include "tools/prove/flow.h"

namespace vramspan::prove {
namespace {

// The cubin has the kernel's parameters at another place than its architecture's. Then what stands
// before them is taken for one.
bool HasOtherParameters(const SassText& text, const SassSection& section) {
  const auto said = text.parameters.find(section.name);
  return said != text.parameters.end() && said->second.begin != MachineOf(text.version).parameters;
}

KernelReading Read(const SassText& text, const SassSection& section) {
  const SassCode code = ParseCode(section.text);
  KernelReading reading = {.name = std::string(section.name)};
  reading.why = Follow(text, code, nullptr).doubt;
  if (reading.why.empty() && HasOtherParameters(text, section)) {
    reading.why = "its parameters begin elsewhere";
    return reading;
  }
  reading.proven = reading.why.empty();
  if (reading.proven) return reading;
  ParameterCases when = FindConditions(text, section, code);
  if (!when.empty()) {
    reading = {.name = std::move(reading.name), .proven = true, .when = std::move(when)};
  }
  return reading;
}

}  // namespace

std::vector<KernelReading> ReadKernels(std::string_view text) {
  const SassText parsed = ParseSass(text);
  std::vector<KernelReading> readings;
  for (const SassSection& section : parsed.sections) {
    if (section.kernel) readings.push_back(Read(parsed, section));
  }
  return readings;
}

}  // namespace vramspan::prove
