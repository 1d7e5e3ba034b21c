// The library that stands between us and CUPTI (cupti_tracer/): it is found beside us, or where
// VRAMSPAN_CUPTI_TRACER says, opened when it is first asked for something, and never closed.
//
// Threads: any. Errors say what to install, or what to set.
#ifndef VRAMSPAN_RUNTIME_API_TRACER_LIBRARY_H_
#define VRAMSPAN_RUNTIME_API_TRACER_LIBRARY_H_

#include <string>

#include "runtime/base/status.h"
#include "runtime/driver/driver.h"
#include "runtime/observe/hardware_counters.h"
#include "runtime/observe/launch_source.h"

namespace vramspan::tracer_library {

StatusOr<vramspanLaunchSourceStart_t> LaunchSourceStart();
StatusOr<vramspanLaunchSourceStop_t> LaunchSourceStop();
// What reads the GPU's counters, whichever the launch source.
StatusOr<const vramspanCountersTable*> Counters();

// Where that is to look for CUPTI first: beside a driver that was given by its path, else empty.
std::string CuptiBeside(const Driver& driver);

}  // namespace vramspan::tracer_library

#endif  // VRAMSPAN_RUNTIME_API_TRACER_LIBRARY_H_
