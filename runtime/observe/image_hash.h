// A hash of the image that a module or library was loaded from, the same in every process: what
// tells that a kernel's code is the very code that an audit has seen.
//
// Understood are fat binaries with their wrapper or without, ELF (cubins), and PTX as text. What
// the image says of its own size is bounded, and read in a way that survives that it is wrong.
// Threads: any.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_IMAGE_HASH_H_
#define VRAMSPAN_RUNTIME_OBSERVE_IMAGE_HASH_H_

#include <cstdint>

#include "runtime/base/units.h"

namespace vramspan {

// Larger ones are not hashed: that would take a second.
inline constexpr Bytes kMostImage = GiB(1);

// What a wrapper leads to; others as they are. Null: it cannot be read.
const void* UnwrappedImage(const void* image);

// 0: it is not understood, too large, or not there.
uint64_t HashOfImage(const void* image);

// The bytes that this is a hash of, from `image` on. 0: of a text, of a wrapper, and where it is
// not understood. No more than `image` says is known of them: it may be any number.
uint64_t SizeOfImage(const void* image);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_IMAGE_HASH_H_
