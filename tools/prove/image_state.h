// An image while its code is read, piece by piece and in any order.
#ifndef VRAMSPAN_TOOLS_PROVE_IMAGE_STATE_H_
#define VRAMSPAN_TOOLS_PROVE_IMAGE_STATE_H_

#include <string>
#include <string_view>
#include <vector>

#include "tools/prove/code.h"
#include "tools/prove/prover.h"

namespace vramspan::prove {

class ImageState {
 public:
  explicit ImageState(uint64_t module) { verdict_.module = module; }

  // A cubin for `gpu` holds these kernels, by its own tables, and this was read of its code.
  void AddRead(const std::string& gpu, const std::vector<std::string>& kernels,
               const std::vector<KernelReading>& readings);
  // Nothing was read of it.
  void AddUnread(const std::string& gpu, const std::vector<std::string>& kernels,
                 std::string_view why);
  // PTX declares these.
  void AddPtx(const std::vector<std::string>& kernels);
  // Some code of the image cannot be known.
  void Fail(std::string_view why);

  ImageVerdict Verdict() &&;

 private:
  void AddProven(const std::string& kernel, const ParameterCases& when);
  void AddDoubt(const std::string& gpu, const std::string& kernel, std::string_view why);

  ImageVerdict verdict_;
  std::vector<std::string> ptx_;
};

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_IMAGE_STATE_H_
