// For the preload: before whatever includes cuda.h.
#include "runtime/preload/cuda_api.h"
// Not sorted in.
#include "cmake/precompiled/core.h"
