// nvdisasm, of NVIDIA's: a program that is asked for the machine code of a cubin as text. Nothing
// of the CUDA Toolkit is needed beside it.
//
// Threads: any.
#ifndef VRAMSPAN_TOOLS_PROVE_DISASSEMBLER_H_
#define VRAMSPAN_TOOLS_PROVE_DISASSEMBLER_H_

#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/status.h"
#include "tools/prove/child.h"
#include "tools/prove/mapped_file.h"

namespace vramspan::prove {

class Disassembler {
 public:
  // `named` is a program, by PATH where it names no folder. Empty: the first of PATH, the CUDA
  // Toolkit, and the packages of the python3 in PATH that have it. NotFound says what to do.
  static StatusOr<Disassembler> Find(const std::string& named);

  const std::string& path() const { return path_; }

  // What nvdisasm prints for the cubin: all functions, and what stands in bank 4. It lies in a file
  // without a name, for it is several times as large. FailedPrecondition: nvdisasm's own error.
  // ResourceExhausted: no room for that.
  StatusOr<MappedFile> Run(std::string_view cubin, const ChildLimits& limits = {}) const;

 private:
  explicit Disassembler(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_DISASSEMBLER_H_
