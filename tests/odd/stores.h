// How a word comes into an array, so that kernels find it there.
#ifndef VRAMSPAN_TESTS_ODD_STORES_H_
#define VRAMSPAN_TESTS_ODD_STORES_H_

#include "tests/odd/tools.h"

namespace odd {

enum class StoreWay {
  kCopy,        // From host memory.
  kPinnedCopy,  // From page-locked memory.
  kFill,        // Two fills of a word of 4 bytes each.
  kKernel,      // By a kernel that is not given the word as it is.
  kTwoCopies,   // By another array.
  kCount,
};

void AddStore(Tools* tools, StoreWay way, size_t array, size_t word, Word value, Bundle* bundle);
const char* NameOfWay(StoreWay way);

}  // namespace odd

#endif  // VRAMSPAN_TESTS_ODD_STORES_H_
