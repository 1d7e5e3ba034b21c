// Reading memory that may not be there.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_READABLE_H_
#define VRAMSPAN_RUNTIME_OBSERVE_READABLE_H_

#include <cstddef>

namespace vramspan {

// Copies up to `size` bytes of this process's memory at `from`, which need not be mapped; returns
// how many could be read, 0 as well where the system does not let a process read itself this way
// (then said once in the log). A system call: 0.5 to 1.5 us for what fits a page.
size_t ReadIfMapped(const void* from, void* to, size_t size);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_READABLE_H_
