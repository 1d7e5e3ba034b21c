// Where learned files lie (docs/learned.md).
#ifndef VRAMSPAN_RUNTIME_API_LEARNED_FILES_H_
#define VRAMSPAN_RUNTIME_API_LEARNED_FILES_H_

#include "runtime/base/keyed_files.h"
#include "runtime/placement/learned_kernels.h"

namespace vramspan {

inline constexpr KeyedFiles::Kind kLearnedFiles = {
    .folder = "learned", .ending = ".learned", .most_files = 256, .most_text = kMostLearnedText};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_LEARNED_FILES_H_
