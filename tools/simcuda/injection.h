#ifndef VRAMSPAN_TOOLS_SIMCUDA_INJECTION_H_
#define VRAMSPAN_TOOLS_SIMCUDA_INJECTION_H_

namespace simcuda {

// Loads the library that CUDA_INJECTION64_PATH names and calls its InitializeInjection(), the first
// time that it is called; other threads wait until that has returned. The library may call the
// driver, cuInit too. One that cannot be loaded is said on stderr, and the program goes on.
void InjectOnce();

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_INJECTION_H_
