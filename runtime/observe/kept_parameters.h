// The parameters of a graph's node whose code may still be read: what that says may depend on them
// (KernelCode). Copied when the node is decoded, as they are the program's. Bounded: of what there
// is no room for nothing is known, and its node is not proven.
//
// Pure values. Threads: any.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_KEPT_PARAMETERS_H_
#define VRAMSPAN_RUNTIME_OBSERVE_KEPT_PARAMETERS_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/parameter_ranges.h"
#include "runtime/observe/parameters.h"

namespace vramspan {

class KeptParameters {
 public:
  // Of one node, and of all of a process.
  static constexpr size_t kMost = 4096;
  static constexpr size_t kMostOfAll = size_t{16} << 20;

  // Null: there are none, or one of them is missing, or there is no room.
  static std::shared_ptr<const KeptParameters> Of(const Parameters& parameters);
  ~KeptParameters();
  KeptParameters(const KeptParameters&) = delete;
  KeptParameters& operator=(const KeptParameters&) = delete;

  // As Parameters::Hold.
  bool Hold(const ParameterCases& cases) const;

  // Bytes of all that there are now.
  static size_t bytes();

 private:
  KeptParameters(const Layout* layout, std::vector<char> block)
      : layout_(layout), block_(std::move(block)) {}

  const Layout* const layout_;  // Null: the block is a buffer that is there as a whole.
  const std::vector<char> block_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_KEPT_PARAMETERS_H_
