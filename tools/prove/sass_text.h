// The text of nvdisasm, by sections.
//
// Pure. The views are of the text.
#ifndef VRAMSPAN_TOOLS_PROVE_SASS_TEXT_H_
#define VRAMSPAN_TOOLS_PROVE_SASS_TEXT_H_

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/prove/sass_instruction.h"

namespace vramspan::prove {

struct SassSection {
  std::string_view name;  // Of its function.
  bool kernel = false;
  std::string_view text;
};

// The function of the driver that a failed assertion calls.
inline constexpr std::string_view kEnds = "__assertfail";

// Where a kernel's parameters stand in bank 0, as its cubin says.
struct SassParameters {
  uint64_t begin = 0, bytes = 0;
  bool operator==(const SassParameters&) const = default;
};

struct SassText {
  int version = 0;                                                   // 90 for sm_90.
  absl::flat_hash_map<std::string_view, SassParameters> parameters;  // By the kernel's name.
  // What stands in bank 4, by offset: names of functions and variables.
  absl::flat_hash_map<uint64_t, std::string_view> addresses;
  bool ends_is_own = false;  // kEnds is no function of the driver here.
  std::vector<SassSection> sections;
};

SassText ParseSass(std::string_view text);

// A section's instructions. Apart from the text: those of one section at a time are kept.
struct SassCode {
  std::vector<SassInstruction> instructions;
  absl::flat_hash_map<std::string_view, size_t> labels;  // The instruction that follows each.
  std::string_view stray;  // The first line that is not understood: then nothing is known of it.
};

SassCode ParseCode(std::string_view section);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_SASS_TEXT_H_
