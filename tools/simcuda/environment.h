#ifndef VRAMSPAN_TOOLS_SIMCUDA_ENVIRONMENT_H_
#define VRAMSPAN_TOOLS_SIMCUDA_ENVIRONMENT_H_

// Settings from environment variables. A value that cannot be read ends the process with a line
// that names it: a test that runs with a mistyped limit must not pass by accident.

#include <cstddef>
#include <cstdint>

namespace simcuda {

size_t EnvNumber(const char* name, size_t fallback);

// Bytes, with an optional suffix KiB, MiB, GiB or TiB.
size_t EnvBytes(const char* name, size_t fallback);

// "9.0". Leaves the values alone when the variable is not set.
void EnvVersion(const char* name, int* major, int* minor);

// "0,2": numbers from 0 to 63, as bits; "none".
uint64_t EnvBits(const char* name, uint64_t fallback);

// "13" or "13,12.5": positive numbers; the second is as the first where it is left out. Leaves the
// values alone when the variable is not set.
void EnvRates(const char* name, double* first, double* second);

// Says that the value of `name` is not `wanted`, and exits.
[[noreturn]] void EnvRefuse(const char* name, const char* value, const char* wanted);

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_ENVIRONMENT_H_
