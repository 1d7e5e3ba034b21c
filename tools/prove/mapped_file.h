// A file as memory, read by whoever looks at it: libraries of GPU code have hundreds of megabytes.
//
// A file that somebody shortens meanwhile ends the process, as with every map.
#ifndef VRAMSPAN_TOOLS_PROVE_MAPPED_FILE_H_
#define VRAMSPAN_TOOLS_PROVE_MAPPED_FILE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/status.h"

namespace vramspan::prove {

class MappedFile {
 public:
  // NotFound, or FailedPrecondition where it is no file or cannot be read; each names it.
  static StatusOr<MappedFile> Open(const std::string& path);
  // `fd` stays the caller's. Errors say that it is `path`.
  static StatusOr<MappedFile> Of(int fd, const std::string& path);
  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  ~MappedFile();
  MappedFile& operator=(MappedFile&&) = delete;

  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  MappedFile(void* data, size_t size) : data_(data), size_(size) {}

  void* data_;  // Null where it is empty.
  size_t size_;
};

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_MAPPED_FILE_H_
