// The shares that processes are due, found another way than the broker finds them: by bisection, in
// floating point, tenant by tenant.
#ifndef VRAMSPAN_TESTS_BROKER_SIMULATION_REFERENCE_H_
#define VRAMSPAN_TESTS_BROKER_SIMULATION_REFERENCE_H_

#include <map>

#include "tools/broker/core/state.h"

namespace vramspan::broker::simulation {

// What each process's grant of device memory should be.
std::map<ProcessId, double> ReferenceGrants(const State& state);

}  // namespace vramspan::broker::simulation

#endif  // VRAMSPAN_TESTS_BROKER_SIMULATION_REFERENCE_H_
