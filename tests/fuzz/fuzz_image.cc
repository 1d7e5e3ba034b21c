// A kernel image for the simulated driver: what its dynamic linker is given after this has no way
// out of the file.
#include <cstdint>
#include <vector>

#include "runtime/base/log.h"
#include "tools/simcuda/modules/elf_image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A copy of its own, so that what lies behind it is nobody's.
  const std::vector<char> bytes(data, data + size);
  const CUresult valid = simcuda::ValidateImage(bytes.data(), bytes.size());
  VS_CHECK(valid == CUDA_SUCCESS || valid == CUDA_ERROR_INVALID_IMAGE);
  return 0;
}
