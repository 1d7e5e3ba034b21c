// What programs are bound to: an entry for each function that the preload hooks. It leads to the
// preload's, or where that is not to be to the function itself.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_STUB_ENTRIES_H_
#define VRAMSPAN_RUNTIME_PRELOAD_STUB_ENTRIES_H_

#include <stddef.h>

namespace vramspan::stub {

inline constexpr size_t kNoEntry = ~size_t{0};

// By the name that it is exported by.
size_t EntryOf(const char* name);
bool IsOwnEntry(const void* function);

}  // namespace vramspan::stub

#endif  // VRAMSPAN_RUNTIME_PRELOAD_STUB_ENTRIES_H_
