// What was read of GPU code, for people and as JSON. Pure.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_PROVE_REPORT_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_PROVE_REPORT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "tools/prove/prover.h"

namespace vramspan::prove {

// `top`: how many reasons, the most frequent ones; 0: all.
std::string ToTable(const std::vector<FileVerdict>& files, size_t top);
// Each kernel, with its verdict.
std::string ToList(const std::vector<FileVerdict>& files);
// `nvdisasm`: the program. `list`: with each kernel.
std::string ToJson(const std::vector<FileVerdict>& files, const std::string& nvdisasm, size_t top,
                   bool list);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_PROVE_REPORT_H_
