#ifndef VRAMSPAN_TOOLS_SIMCUDA_MODULES_ELF_IMAGE_H_
#define VRAMSPAN_TOOLS_SIMCUDA_MODULES_ELF_IMAGE_H_

// The bytes of a host kernel image, taken from the program and checked before the dynamic linker
// sees them. The program passes a bare pointer, so the size follows from the headers, and neither
// they nor the memory behind the pointer are trusted: bytes are read by the kernel (an unreadable
// page is an error, not a fault), every offset is checked against what was read, and only an object
// that says it is a kernel image of this version gets through. Code in the image is not judged: one
// whose constructors were damaged can still crash the program, as any code of its own can.

#include <cuda.h>

#include <cstddef>
#include <memory>
#include <utility>

namespace simcuda {

// A file descriptor that is closed with its owner.
class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OwnedFd();
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

struct ImageFile {
  OwnedFd fd;  // a memfd of exactly `size` bytes
  size_t size = 0;
};

// Images are read up to this size; a header that claims more is refused.
inline constexpr size_t kMaxImageBytes = size_t{256} << 20;

// CUDA_ERROR_INVALID_IMAGE for what is no image at all, CUDA_ERROR_NO_BINARY_FOR_GPU for fatbins
// and cubins, CUDA_ERROR_JIT_COMPILER_NOT_FOUND for PTX, CUDA_ERROR_OUT_OF_MEMORY without a memfd.
CUresult ReadImageFromMemory(const void* image, ImageFile* file);

// Also CUDA_ERROR_FILE_NOT_FOUND.
CUresult ReadImageFromPath(const char* path, ImageFile* file);

// A second copy of the bytes, in a file of its own.
CUresult CopyImageFile(const ImageFile& file, ImageFile* copy);

// CUDA_SUCCESS where `bytes` is a well-formed kernel image, of `size` bytes or less.
CUresult ValidateImage(const char* bytes, size_t size);

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_MODULES_ELF_IMAGE_H_
