// Reads all GPU code of files, and says of which kernels it takes no address from memory.
#ifndef VRAMSPAN_TOOLS_PROVE_PROVER_H_
#define VRAMSPAN_TOOLS_PROVE_PROVER_H_

#include <absl/functional/function_ref.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/parameter_ranges.h"
#include "runtime/base/status.h"
#include "tools/prove/code.h"

namespace vramspan::prove {

struct Verdict {
  bool proven = false;  // In all code of the image that holds it, and some does.
  std::string why;      // Else.
  std::string gpu;      // For which that code is: "sm_90a". Empty: for any.
  // For which launches it is proven: what any of that code asks. None: for all.
  ParameterCases when = {};
};

struct ImageVerdict {
  uint64_t module = 0;
  std::map<std::string, Verdict> kernels;  // By name.
  std::string why;                         // Nothing of it is proven, because.
  // Of its kernels, for all launches, and for some.
  size_t proven() const;
  size_t on_condition() const;
};

struct FileVerdict {
  std::string path;
  // The program that loaded what this file holds, which is one image. Empty: the user named it.
  std::string loaded_by;
  size_t images = 0;  // With those that are in other files, too.
  // Those that no file before has.
  std::vector<ImageVerdict> own;
};

// Its two functions are called on any thread; the second one call at a time.
struct Reader {
  // What the disassembler says of a cubin.
  absl::FunctionRef<StatusOr<std::vector<KernelReading>>(std::string_view cubin)> read;
  absl::FunctionRef<void(size_t done, size_t all)> progress;
};

// Reads the images of these files, each image once, on so many threads. A file that cannot be
// opened is named in `errors`, and not in the result. REQUIRES: threads >= 1.
std::vector<FileVerdict> Prove(const std::vector<std::string>& paths, const Reader& reader,
                               unsigned threads, std::vector<Status>* errors);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_PROVER_H_
