// The user's trust files (docs/trust.md): VRAMSPAN_TRUST, paths with colons between them.
#ifndef VRAMSPAN_RUNTIME_API_TRUST_FILES_H_
#define VRAMSPAN_RUNTIME_API_TRUST_FILES_H_

#include "runtime/observe/trust_list.h"

namespace vramspan {

// Adds them. A file that cannot be read, or not be understood, is named on stderr and left out:
// then its kernels are trusted less.
void AddTrustFiles(TrustList* list);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_TRUST_FILES_H_
