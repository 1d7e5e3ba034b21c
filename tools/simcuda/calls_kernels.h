#ifndef VRAMSPAN_TOOLS_SIMCUDA_CALLS_KERNELS_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CALLS_KERNELS_H_

// The functions behind the rows of entries_kernels.inc.

#include "tools/simcuda/calls_capture.h"
#include "tools/simcuda/calls_graph.h"
#include "tools/simcuda/calls_launch.h"
#include "tools/simcuda/calls_module.h"

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CALLS_KERNELS_H_
