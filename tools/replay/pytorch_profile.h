// What the kernels of PyTorch's operators took, from a profile of the same run: the Chrome trace
// that torch.profiler exports. A kernel belongs to the operator of its "External id", and the
// operator says by its "Record function id" which node of the execution trace it is (rf_id).
#ifndef VRAMSPAN_TOOLS_REPLAY_PYTORCH_PROFILE_H_
#define VRAMSPAN_TOOLS_REPLAY_PYTORCH_PROFILE_H_

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <streambuf>
#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace vramspan::replay {

struct ProfiledOperator {
  uint64_t start = 0;      // Of its first kernel; nanoseconds of the profile's clock, as all here.
  uint64_t busy = 0;       // All its kernels together.
  uint64_t submitted = 0;  // When the first of them was launched; start where that is not told.
  uint32_t stream = 0;     // Of the first, as the profile numbers them.
  uint32_t kernels = 0;
};

struct PytorchProfile {
  absl::flat_hash_map<uint64_t, ProfiledOperator> operators;  // By rf_id; those with kernels.
  uint64_t kernels = 0;                                       // Copies and fills included.
  uint64_t unclaimed = 0;             // Kernels of no operator that is told.
  std::vector<std::string> problems;  // What of it is missing, in sentences.
};

// JSON, packed or not (text_source.h). Errors name the file; FailedPrecondition for what is no such
// profile, or has no kernels.
StatusOr<PytorchProfile> LoadPytorchProfile(const std::string& path);
// The same from its text, whose errors name no file.
StatusOr<PytorchProfile> ReadPytorchProfile(std::streambuf* text);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_PYTORCH_PROFILE_H_
