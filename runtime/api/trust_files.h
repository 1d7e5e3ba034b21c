// The user's trust files (docs/trust.md): VRAMSPAN_TRUST, paths with colons between them.
#ifndef VRAMSPAN_RUNTIME_API_TRUST_FILES_H_
#define VRAMSPAN_RUNTIME_API_TRUST_FILES_H_

#include <string_view>

#include "runtime/base/status.h"
#include "runtime/observe/trust_list.h"

namespace vramspan {

// Adds the files that `paths` names. The first that cannot be read, or not be understood, is an
// error that names it.
Status AddTrustFiles(std::string_view paths, TrustList* list);

// Adds those of the environment. A file that is wrong is named on stderr and left out: then its
// kernels are trusted less.
void AddTrustFiles(TrustList* list);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_TRUST_FILES_H_
