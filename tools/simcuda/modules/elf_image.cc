#include "tools/simcuda/modules/elf_image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tools/simcuda/modules/machine.h"

namespace simcuda {
namespace {

constexpr uint32_t kFatbinMagic = 0xBA55ED50;
constexpr uint32_t kFatbinWrapperMagic = 0x466243B1;
constexpr uint16_t kMachineCuda = 190;

CUresult NewMemoryFile(OwnedFd* fd) {
  *fd = OwnedFd(memfd_create("simcuda-image", MFD_CLOEXEC));
  return fd->valid() ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

// Appends bytes of the program's memory, as many as can be read. The bare system call: a
// sanitizer's interceptor would take the unknown length for an overflow before the kernel could
// refuse it.
size_t Append(int fd, const void* data, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t written = static_cast<ssize_t>(
        syscall(SYS_write, fd, static_cast<const char*>(data) + done, size - done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += static_cast<size_t>(written);
  }
  return done;
}

// Judges by the first bytes what kind of image this is.
CUresult CheckKind(const Elf64_Ehdr& header, size_t available) {
  uint32_t magic = 0;
  if (available < sizeof(magic)) return CUDA_ERROR_INVALID_IMAGE;
  memcpy(&magic, &header, sizeof(magic));
  if (magic == kFatbinMagic || magic == kFatbinWrapperMagic) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  const char* text = reinterpret_cast<const char*>(&header);
  if (memcmp(text, "//", 2) == 0 || (available >= 8 && memcmp(text, ".version", 8) == 0)) {
    return CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
  }
  if (available < sizeof(header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return CUDA_ERROR_INVALID_IMAGE;
  }
  if (header.e_machine == kMachineCuda) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (header.e_machine != kMachine || header.e_type != ET_DYN ||
      header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 || header.e_phnum > 64 ||
      header.e_phoff < sizeof(header) || header.e_phoff > kMaxImageBytes) {
    return CUDA_ERROR_INVALID_IMAGE;
  }
  return CUDA_SUCCESS;
}

// The end of the last segment: all that is needed to load the image. 0 where a header is absurd.
size_t SegmentsEnd(const std::vector<Elf64_Phdr>& headers) {
  uint64_t end = 0;
  for (const Elf64_Phdr& header : headers) {
    if (header.p_offset > kMaxImageBytes || header.p_filesz > kMaxImageBytes) return 0;
    if (header.p_type == PT_LOAD) end = std::max(end, header.p_offset + header.p_filesz);
  }
  return end <= kMaxImageBytes ? end : 0;
}

// Checks a complete file. Cuts the section table off, which was not taken along, and the order to
// protect part of the data after relocation, which could name data that must stay writable.
CUresult Seal(ImageFile* file) {
  void* bytes = mmap(nullptr, file->size, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd.get(), 0);
  if (bytes == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  Elf64_Ehdr* header = static_cast<Elf64_Ehdr*>(bytes);
  header->e_shoff = 0;
  header->e_shnum = 0;
  header->e_shstrndx = SHN_UNDEF;
  const CUresult result = ValidateImage(static_cast<const char*>(bytes), file->size);
  if (result == CUDA_SUCCESS) {
    auto* segments = reinterpret_cast<Elf64_Phdr*>(static_cast<char*>(bytes) + header->e_phoff);
    for (int i = 0; i < header->e_phnum; ++i) {
      if (segments[i].p_type == PT_GNU_RELRO) segments[i].p_type = PT_NULL;
    }
  }
  munmap(bytes, file->size);
  return result;
}

}  // namespace

OwnedFd::~OwnedFd() {
  if (fd_ >= 0) close(fd_);
}

CUresult ReadImageFromMemory(const void* image, ImageFile* file) {
  if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const char* bytes = static_cast<const char*>(image);
  ImageFile read;
  CUresult result = NewMemoryFile(&read.fd);
  if (result != CUDA_SUCCESS) return result;
  const int fd = read.fd.get();

  Elf64_Ehdr header = {};
  size_t taken = Append(fd, bytes, sizeof(header));
  if (pread(fd, &header, taken, 0) != static_cast<ssize_t>(taken)) return CUDA_ERROR_INVALID_IMAGE;
  result = CheckKind(header, taken);
  if (result != CUDA_SUCCESS) return result;

  std::vector<Elf64_Phdr> headers(header.e_phnum);
  const size_t headers_bytes = headers.size() * sizeof(Elf64_Phdr);
  const size_t headers_end = header.e_phoff + headers_bytes;
  taken += Append(fd, bytes + taken, headers_end - taken);
  if (taken != headers_end ||
      pread(fd, headers.data(), headers_bytes, static_cast<off_t>(header.e_phoff)) !=
          static_cast<ssize_t>(headers_bytes)) {
    return CUDA_ERROR_INVALID_IMAGE;
  }

  read.size = SegmentsEnd(headers);
  if (read.size < headers_end) return CUDA_ERROR_INVALID_IMAGE;
  taken += Append(fd, bytes + taken, read.size - taken);
  if (taken != read.size) return CUDA_ERROR_INVALID_IMAGE;
  result = Seal(&read);
  if (result == CUDA_SUCCESS) *file = std::move(read);
  return result;
}

CUresult ReadImageFromPath(const char* path, ImageFile* file) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const OwnedFd source(open(path, O_RDONLY | O_CLOEXEC));
  struct stat status;
  if (!source.valid() || fstat(source.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return CUDA_ERROR_FILE_NOT_FOUND;
  }
  if (status.st_size == 0 || static_cast<uint64_t>(status.st_size) > kMaxImageBytes) {
    return CUDA_ERROR_INVALID_IMAGE;
  }
  // Private and followed by nothing: reading past the end is refused by the system call.
  const size_t size = static_cast<size_t>(status.st_size);
  void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, source.get(), 0);
  if (bytes == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = ReadImageFromMemory(bytes, file);
  munmap(bytes, size);
  return result;
}

CUresult CopyImageFile(const ImageFile& file, ImageFile* copy) {
  ImageFile made;
  CUresult result = NewMemoryFile(&made.fd);
  if (result != CUDA_SUCCESS) return result;
  void* bytes = mmap(nullptr, file.size, PROT_READ, MAP_SHARED, file.fd.get(), 0);
  if (bytes == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  made.size = file.size;
  result = Append(made.fd.get(), bytes, file.size) == file.size ? CUDA_SUCCESS
                                                                : CUDA_ERROR_OUT_OF_MEMORY;
  munmap(bytes, file.size);
  if (result == CUDA_SUCCESS) *copy = std::move(made);
  return result;
}

}  // namespace simcuda
