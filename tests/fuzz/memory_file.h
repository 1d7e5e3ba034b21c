// Bytes as a file in memory, for what is read by path.
#ifndef VRAMSPAN_TESTS_FUZZ_MEMORY_FILE_H_
#define VRAMSPAN_TESTS_FUZZ_MEMORY_FILE_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "runtime/base/log.h"

class MemoryFile {
 public:
  MemoryFile(const uint8_t* data, size_t size) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    VS_CHECK(fd_ >= 0);
    VS_CHECK(pwrite(fd_, data, size, 0) == static_cast<ssize_t>(size));
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  const int fd_;
};

#endif  // VRAMSPAN_TESTS_FUZZ_MEMORY_FILE_H_
