// How far a kernel's code is trusted to touch what was inferred for its launches, and nothing else.
// The numbers stand in files (docs/trace-format.md). Pure.
#ifndef VRAMSPAN_RUNTIME_BASE_TRUST_H_
#define VRAMSPAN_RUNTIME_BASE_TRUST_H_

#include <cstdint>

namespace vramspan {

// In order: of several codes in one graph the least counts.
enum class Trust : uint8_t {
  kUntried = 0,    // Nothing is known.
  kPlausible = 1,  // Its name is one of a library whose kernels were audited.
  kProven = 2,     // Counters have seen this very code, again and again, touch nothing else. Or
                   // its machine code was read, and takes no address from memory.
  kArrays = 3,     // Nor other arrays of the allocations that it names (WorkingSets).
};

constexpr const char* TrustName(Trust trust) {
  switch (trust) {
    case Trust::kUntried:
      return "untried";
    case Trust::kPlausible:
      return "plausible";
    case Trust::kProven:
      return "proven";
    case Trust::kArrays:
      return "arrays";
  }
  return "";
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_TRUST_H_
