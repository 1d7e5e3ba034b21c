#include "tools/prove/code.h"

#include "tools/prove/flow.h"

namespace vramspan::prove {

std::vector<KernelReading> ReadKernels(std::string_view text) {
  const SassText parsed = ParseSass(text);
  std::vector<KernelReading> readings;
  for (const SassSection& section : parsed.sections) {
    if (!section.kernel) continue;
    std::string why = FirstDoubt(parsed, section);
    readings.push_back(
        {.name = std::string(section.name), .proven = why.empty(), .why = std::move(why)});
  }
  return readings;
}

}  // namespace vramspan::prove
