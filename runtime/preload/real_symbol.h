// What a function of a library is that a program was bound past, as this library has one of the
// same name.
//
// Threads: any.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_REAL_SYMBOL_H_
#define VRAMSPAN_RUNTIME_PRELOAD_REAL_SYMBOL_H_

#include <absl/types/span.h>

namespace vramspan::preload {

// What the loader would have bound the caller to without us: what all libraries see, else what the
// caller's own library was linked to. Else, for a call that came by a jump and shows no caller of
// its own, what libraries of these names have, where they are loaded. Its library stays loaded for
// good. Null where there is none; `caller` may be null.
void* RealSymbol(const void* caller, const char* name, absl::Span<const char* const> sonames);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_REAL_SYMBOL_H_
