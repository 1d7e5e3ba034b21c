// For the preload: before whatever includes cuda.h.
#include "runtime/preload/cuda_api.h"
// Behind it: this line keeps clang-format from sorting the two.
#include "cmake/precompiled/core.h"
