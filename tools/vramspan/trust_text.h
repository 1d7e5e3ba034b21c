// What is the same in all trust files that commands write (docs/trust.md).
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_TRUST_TEXT_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_TRUST_TEXT_H_

#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace vramspan {

// The first lines. `columns` is a remark, on what the lines below hold.
std::string TrustHead(std::string_view columns);
// Where the lines below come from.
std::string TrustOf(std::string_view of);

// Whether a line can name this kernel. A name in parentheses is ours, for codes that the driver has
// no name for.
bool TrustCanName(std::string_view kernel);

// FailedPrecondition: whoever is to read the file would refuse it.
Status CheckTrust(std::string_view text);

// "2026-01-31".
std::string Today();

}  // namespace vramspan

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_TRUST_TEXT_H_
