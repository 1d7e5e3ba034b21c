// A table of descriptors for one thread alone.
#ifndef VRAMSPAN_RUNTIME_BASE_PRIVATE_DESCRIPTORS_H_
#define VRAMSPAN_RUNTIME_BASE_PRIVATE_DESCRIPTORS_H_

#include <span>

namespace vramspan {

// From here on the calling thread has a table of descriptors of its own, and nothing in it but
// `keep`, under the same numbers. What other threads have open stays as it is, with their locks on
// files. Such a thread calls no driver, which has descriptors too. False: the system refuses, and
// nothing has changed. REQUIRES: `keep` ascends.
bool LeaveDescriptors(std::span<const int> keep = {});

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_PRIVATE_DESCRIPTORS_H_
