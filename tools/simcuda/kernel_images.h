// The images of one kernel source, embedded in the program by vramspan_add_kernels(NAME ...).
//
//   SIMCUDA_DECLARE_KERNELS(demo_kernels);     // once, at namespace scope; links demo_kernels
//   CUmodule module;
//   CUresult result = simcuda::LoadKernels(demo_kernels_images(), cuda.ModuleLoadData, &module);
//
// A program carries one image for the GPU and one for the simulated driver, and takes whichever
// its driver accepts; it never asks which driver that is. The images are constant, aligned to 64
// bytes and last for the life of the program. Nothing here links a CUDA library.

#ifndef VRAMSPAN_TOOLS_SIMCUDA_KERNEL_IMAGES_H_
#define VRAMSPAN_TOOLS_SIMCUDA_KERNEL_IMAGES_H_

#include <cuda.h>

#include <cstddef>

namespace simcuda {

struct KernelImages {
  const void* fatbin;  // For the GPU: SASS and PTX. Null where the build found no nvcc.
  size_t fatbin_size;
  const void* host;  // For simcuda: an ELF shared object.
  size_t host_size;
};

// True for what a driver answers about an image that was made for another kind of device, so that
// the next image is worth a try. Any other error is the answer to the load itself.
inline bool IsForeignImage(CUresult result) {
  switch (result) {
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_INVALID_SOURCE:
      return true;
    default:
      return false;
  }
}

// Loads the image that the driver takes. `load_data` is anything that can be called as
// cuModuleLoadData(CUmodule*, const void*); with `Handle` = CUlibrary, a wrapper that supplies the
// options of cuLibraryLoadData does as well. Returns the last answer; *handle is set on success.
template <typename Handle, typename LoadData>
CUresult LoadKernels(const KernelImages& images, LoadData&& load_data, Handle* handle) {
  CUresult result = CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (images.fatbin != nullptr) {
    result = load_data(handle, images.fatbin);
  }
  if (IsForeignImage(result) && images.host != nullptr) {
    result = load_data(handle, images.host);
  }
  return result;
}

}  // namespace simcuda

// Declares the accessor that the library NAME defines.
#define SIMCUDA_DECLARE_KERNELS(name) extern "C" simcuda::KernelImages name##_images()

#endif  // VRAMSPAN_TOOLS_SIMCUDA_KERNEL_IMAGES_H_
