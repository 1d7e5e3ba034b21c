// CUPTI's numbers of driver calls (CUPTI_DRIVER_TRACE_CBID_*) and its structs of their parameters
// (cuMemcpy_params and the like). Of CUPTI this takes the types and nothing else.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_CALL_PARAMS_H_
#define VRAMSPAN_RUNTIME_OBSERVE_CALL_PARAMS_H_

// The whole of it: generated_cuda_meta.h needs types that cupti.h alone defines.
#include <cupti.h>

#endif  // VRAMSPAN_RUNTIME_OBSERVE_CALL_PARAMS_H_
