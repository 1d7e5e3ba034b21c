#ifndef VRAMSPAN_TOOLS_SIMCUDA_MEMORY_PHYSICAL_H_
#define VRAMSPAN_TOOLS_SIMCUDA_MEMORY_PHYSICAL_H_

// Physical memory behind one cuMemCreate handle: an extent of the location's shared file, or, where
// it is to be exported, a file of its own. It lives, and counts against its limit, as long as a
// handle or a mapping refers to it.

#include <cuda.h>

#include <cstddef>
#include <memory>

#include "tools/simcuda/device.h"

namespace simcuda::memory {

class FileSpace;

class Physical {
 public:
  // The properties must have been checked. Null when the limit is reached or the system refuses.
  static std::shared_ptr<Physical> Create(size_t size, const CUmemAllocationProp& prop);
  // From a file descriptor that another handle was exported to; the descriptor stays the caller's.
  // Null when it is no such thing. Memory is counted where it was created: in the process that did
  // it is the same memory again, and counts until the last of them is gone.
  static std::shared_ptr<Physical> Import(int fd);
  ~Physical();
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;

  size_t size() const { return size_; }
  const CUmemAllocationProp& prop() const { return prop_; }
  bool on_device() const { return prop_.location.type == CU_MEM_LOCATION_TYPE_DEVICE; }
  bool exportable() const { return space_ == nullptr; }
  int fd() const { return fd_; }
  size_t offset() const { return offset_; }

  // To be told of every mapping, one at a time. What is mapped again moves, and gets large pages:
  // touching them costs less (huge_file.h). What never moves stays sparse.
  void MappedAt(char* address);

 private:
  Physical() = default;

  size_t size_ = 0;
  CUmemAllocationProp prop_ = {};
  MemoryAccount* account_ = nullptr;  // null when imported
  FileSpace* space_ = nullptr;        // null when the file is our own
  int fd_ = -1;
  size_t offset_ = 0;
  bool was_mapped_ = false;
  bool huge_ = false;
};
using PhysicalPtr = std::shared_ptr<Physical>;

}  // namespace simcuda::memory

#endif  // VRAMSPAN_TOOLS_SIMCUDA_MEMORY_PHYSICAL_H_
