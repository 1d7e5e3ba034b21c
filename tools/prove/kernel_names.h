// Which kernels code holds, by its own tables: what was not read can be named all the same. Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_KERNEL_NAMES_H_
#define VRAMSPAN_TOOLS_PROVE_KERNEL_NAMES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"

namespace vramspan::prove {

// Of one image's code.
inline constexpr size_t kMostKernels = size_t{1} << 20;
inline constexpr size_t kMostNameBytes = 4096;

// As the symbols of a cubin have them. DataLoss: it is no cubin, or its tables are wrong.
StatusOr<std::vector<std::string>> KernelsOfCubin(std::string_view cubin);

// Whether a linker makes other code of it before it runs.
bool IsRelocatable(std::string_view cubin);

// As PTX declares them, or more.
std::vector<std::string> KernelsOfPtx(std::string_view ptx);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_KERNEL_NAMES_H_
