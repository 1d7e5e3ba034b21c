// The loader's look-up functions as the stub exports them.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_STUB_LOOKUPS_H_
#define VRAMSPAN_RUNTIME_PRELOAD_STUB_LOOKUPS_H_

namespace vramspan::stub {

// From now on they lead to these.
void GoOnTo(void* dlsym, void* dlvsym);

}  // namespace vramspan::stub

#endif  // VRAMSPAN_RUNTIME_PRELOAD_STUB_LOOKUPS_H_
