// What was read of GPU code, as a trust file (docs/trust.md). Pure.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_PROVE_TRUST_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_PROVE_TRUST_H_

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "tools/prove/prover.h"

namespace vramspan::prove {

// `date` says when. Of each image it has the shorter of two texts: a line for each kernel that is
// proven, or a line for all and one for each that is not. What is proven on condition has a line of
// its own, and counts as not proven for the rest. FailedPrecondition: it would be more than a trust
// file may hold.
StatusOr<std::string> MakeTrust(const std::vector<FileVerdict>& files, std::string_view date);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_PROVE_TRUST_H_
