#ifndef VRAMSPAN_TOOLS_SIMCUDA_MEMORY_FILE_SPACE_H_
#define VRAMSPAN_TOOLS_SIMCUDA_MEMORY_FILE_SPACE_H_

// The physical memory of one device, or of the host: one sparse file in memory, given out in
// extents. First fit, neighbours merge. Memory goes back to the system when an extent is freed, so
// a fresh extent reads as zeros. Thread-safe.

#include <cstddef>
#include <map>
#include <string>

#include "tools/simcuda/mutex.h"

namespace simcuda::memory {

class FileSpace {
 public:
  explicit FileSpace(std::string label) : label_(std::move(label)) {}

  // False when the system has no file to give. Sizes are multiples of the granularity.
  bool Allocate(size_t size, int* fd, size_t* offset);
  void Free(size_t offset, size_t size);

 private:
  const std::string label_;
  Mutex mutex_;
  int fd_ SIMCUDA_GUARDED_BY(mutex_) = -1;
  size_t end_ SIMCUDA_GUARDED_BY(mutex_) = 0;
  std::map<size_t, size_t> holes_ SIMCUDA_GUARDED_BY(mutex_);  // offset to size, below end_
};

}  // namespace simcuda::memory

#endif  // VRAMSPAN_TOOLS_SIMCUDA_MEMORY_FILE_SPACE_H_
