// cuda.h with every entry point that a driver exports, old ABIs and per-thread variants included,
// each under its own name: no macro makes cuMemAlloc into cuMemAlloc_v2 here. And CUPTI's numbers
// and structs of the calls, as runtime/observe/call_params.h has them. The build includes
// it ahead of everything.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_CUDA_API_H_
#define VRAMSPAN_RUNTIME_PRELOAD_CUDA_API_H_

#ifdef CUDA_VERSION
#error "runtime/preload/cuda_api.h must come before whatever includes cuda.h"
#endif
#define __CUDA_API_VERSION_INTERNAL      // NOLINT: cuda.h's switch.
#define __CUDA_API_VERSION_INTERNAL_ODR  // NOLINT: and types stay as everybody else sees them.
#include <cuda.h>

// cupti.h has stand-ins of its own for the structs of the oldest ABI, under the same names.
#define CUDA_MEMCPY2D_v1_st cupti_CUDA_MEMCPY2D_v1_st
#define CUDA_MEMCPY2D_v1 cupti_CUDA_MEMCPY2D_v1
#define CUDA_MEMCPY3D_v1_st cupti_CUDA_MEMCPY3D_v1_st
#define CUDA_MEMCPY3D_v1 cupti_CUDA_MEMCPY3D_v1
#define CUDA_ARRAY_DESCRIPTOR_v1_st cupti_CUDA_ARRAY_DESCRIPTOR_v1_st
#define CUDA_ARRAY_DESCRIPTOR_v1 cupti_CUDA_ARRAY_DESCRIPTOR_v1
#define CUDA_ARRAY3D_DESCRIPTOR_v1_st cupti_CUDA_ARRAY3D_DESCRIPTOR_v1_st
#define CUDA_ARRAY3D_DESCRIPTOR_v1 cupti_CUDA_ARRAY3D_DESCRIPTOR_v1
#include <cupti.h>
#undef CUDA_MEMCPY2D_v1_st
#undef CUDA_MEMCPY2D_v1
#undef CUDA_MEMCPY3D_v1_st
#undef CUDA_MEMCPY3D_v1
#undef CUDA_ARRAY_DESCRIPTOR_v1_st
#undef CUDA_ARRAY_DESCRIPTOR_v1
#undef CUDA_ARRAY3D_DESCRIPTOR_v1_st
#undef CUDA_ARRAY3D_DESCRIPTOR_v1

#endif  // VRAMSPAN_RUNTIME_PRELOAD_CUDA_API_H_
