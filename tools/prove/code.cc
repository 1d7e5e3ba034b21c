#include "tools/prove/code.h"

#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

namespace vramspan::prove {

std::vector<KernelReading> ReadKernels(std::string_view text) {
  std::vector<KernelReading> kernels;
  for (std::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, ".text.") || !absl::ConsumeSuffix(&line, ":")) continue;
    kernels.push_back({std::string(line), false, "its code is not read yet"});
  }
  return kernels;
}

}  // namespace vramspan::prove
