// A table of descriptors for one thread alone.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_PRIVATE_DESCRIPTORS_H_
#define VRAMSPAN_RUNTIME_PRELOAD_PRIVATE_DESCRIPTORS_H_

namespace vramspan::preload {

// From here on the calling thread has a table of descriptors of its own, and nothing in it. What
// other threads have open stays as it is, with their locks on files. False: the system refuses, and
// nothing has changed.
bool LeaveDescriptors();

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_PRIVATE_DESCRIPTORS_H_
