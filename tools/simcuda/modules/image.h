#ifndef VRAMSPAN_TOOLS_SIMCUDA_MODULES_IMAGE_H_
#define VRAMSPAN_TOOLS_SIMCUDA_MODULES_IMAGE_H_

// A host kernel image in this process: loaded by the dynamic linker from a file of its own, so that
// every load has its own globals, as every module of a real driver has. Immutable; unloaded with
// the last reference, which the ops that run its code hold too. Thread-safe.

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/simcuda/kernel_abi.h"
#include "tools/simcuda/modules/elf_image.h"

namespace simcuda {

class Image {
 public:
  struct Kernel {
    std::string name;
    void (*invoke)(const void* params, const abi::Extent* grid, const abi::Extent* block);
    std::vector<abi::Param> params;
    size_t param_bytes;
  };
  struct Global {
    std::string name;
    void* address;
    size_t bytes;
  };

  // CUDA_ERROR_INVALID_IMAGE where the dynamic linker refuses the image or its lists make no sense.
  static CUresult Load(const ImageFile& file, std::shared_ptr<const Image>* image);
  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  // In the order of the source.
  const std::vector<Kernel>& kernels() const { return kernels_; }
  const std::vector<Global>& globals() const { return globals_; }
  // Null where there is none of that name.
  const Global* FindGlobal(std::string_view name) const;

 private:
  explicit Image(void* handle) : handle_(handle) {}
  bool ReadLists(const abi::Image& image);

  void* const handle_;
  std::vector<Kernel> kernels_;
  std::vector<Global> globals_;
};
using ImagePtr = std::shared_ptr<const Image>;

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_MODULES_IMAGE_H_
