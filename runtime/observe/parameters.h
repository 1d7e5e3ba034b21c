// Where the parameters of a launch are, as the call tells it: an address for each, or all in one
// buffer. Good while the call is.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_PARAMETERS_H_
#define VRAMSPAN_RUNTIME_OBSERVE_PARAMETERS_H_

#include <absl/types/span.h>

#include <vector>

#include "runtime/base/parameter_ranges.h"
#include "runtime/observe/layouts.h"

namespace vramspan {

struct Parameters {
  const Layout* layout = nullptr;  // With it, where each of them is.
  void* const* values = nullptr;
  absl::Span<const char> buffer;  // Or this.

  // The bytes that a kernel is given, as they lie there; what no parameter fills is 0. In `block`,
  // where they do not lie so already.
  absl::Span<const char> Block(std::vector<char>* block) const;
  // Whether Block would give just this; false where any parameter is missing. REQUIRES: of `block`,
  // that the same layout gave it, or a buffer where this is one.
  bool Equal(absl::Span<const char> block) const;
  // Whether the word lies there. What is no part of a parameter does not, nor what lies behind the
  // buffer.
  bool Has(const ParameterRange& range) const;
  bool Hold(const ParameterCases& cases) const;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_PARAMETERS_H_
