#ifndef VRAMSPAN_TOOLS_SIMCUDA_ENVIRONMENT_H_
#define VRAMSPAN_TOOLS_SIMCUDA_ENVIRONMENT_H_

// Settings from environment variables. A value that cannot be read ends the process with a line
// that names it: a test that runs with a mistyped limit must not pass by accident.

#include <cstddef>

namespace simcuda {

size_t EnvNumber(const char* name, size_t fallback);

// Bytes, with an optional suffix KiB, MiB, GiB or TiB.
size_t EnvBytes(const char* name, size_t fallback);

// "9.0". Leaves the values alone when the variable is not set.
void EnvVersion(const char* name, int* major, int* minor);

// Says that the value of `name` is not `wanted`, and exits.
[[noreturn]] void EnvRefuse(const char* name, const char* value, const char* wanted);

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_ENVIRONMENT_H_
