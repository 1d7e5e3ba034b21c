// Tools that see each access of the program's kernels, while they run beside it.
//
// cuda-gdb has the device do one thing at a time: a stream that waits keeps all others waiting,
// those of other contexts too (measured on an H100). compute-sanitizer's initcheck takes memory
// that a kernel of ours reads for memory that the program reads.
#ifndef VRAMSPAN_RUNTIME_DRIVER_CHECKER_H_
#define VRAMSPAN_RUNTIME_DRIVER_CHECKER_H_

#include <cstdint>

namespace vramspan {

enum class Checker : uint8_t { kNone, kDebugger, kSanitizer };

// The one that runs beside this process now, as the libraries in it tell. After cuInit.
Checker CheckerBeside();
// As users know it.
const char* CheckerName(Checker checker);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_DRIVER_CHECKER_H_
