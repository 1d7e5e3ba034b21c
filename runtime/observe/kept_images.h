// Images that the process loads, kept as files for `vramspan prove`: VRAMSPAN_IMAGES names the
// folder. Libraries unpack code from where no tool finds it, and compile it as programs run.
//
// Threads: any.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_KEPT_IMAGES_H_
#define VRAMSPAN_RUNTIME_OBSERVE_KEPT_IMAGES_H_

#include <cstdint>

#include "runtime/base/units.h"

namespace vramspan {

// Of one process. What comes later is not kept, and a line says so.
inline constexpr Bytes kMostKept = GiB(8);

// Whether the folder is named.
bool KeepsImages();
// Writes the image as HASH.image, unless that is there. PTX is not kept: no GPU runs it as it is.
// An error is said once, and harms nobody.
void KeepImage(const void* image, uint64_t hash);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_KEPT_IMAGES_H_
