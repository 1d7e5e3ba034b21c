#ifndef VRAMSPAN_TOOLS_SIMCUDA_MEMORY_FILE_SPACE_H_
#define VRAMSPAN_TOOLS_SIMCUDA_MEMORY_FILE_SPACE_H_

// The physical memory of one device, or of the host: a sparse file in memory, given out in extents.
// What an extent holds at first is not defined: some freed extents keep their pages, as
// getting pages from the system is by far the slowest part of a new allocation; beyond kKeptBytes
// memory goes back when it is freed. Thread-safe.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tools/simcuda/mutex.h"

namespace simcuda::memory {

class FileSpace {
 public:
  static constexpr size_t kKeptBytes = size_t{256} << 20;

  // Where a page is touched, 2 MiB of memory are gone: too much for the sparse use of a large
  // device.
  static constexpr size_t kMostHugeBytes = size_t{512} << 20;

  explicit FileSpace(std::string label) : label_(std::move(label)) {}
  // One with large pages (huge_file.h), of at most kMostHugeBytes.
  static std::unique_ptr<FileSpace> Huge(std::string label);

  // False when the system has no file to give, or the space is full. Sizes are multiples of the
  // granularity.
  bool Allocate(size_t size, int* fd, size_t* offset);
  void Free(size_t offset, size_t size);

 private:
  using Holes = std::map<size_t, size_t>;  // offset to size; neighbours are merged

  static bool TakeFrom(Holes& holes, size_t size, size_t* offset);
  static void AddTo(Holes& holes, size_t offset, size_t size);

  bool OpenFile() SIMCUDA_REQUIRES(mutex_);

  const std::string label_;
  bool huge_ = false;
  Mutex mutex_;
  size_t most_ SIMCUDA_GUARDED_BY(mutex_) = SIZE_MAX;
  int fd_ SIMCUDA_GUARDED_BY(mutex_) = -1;
  size_t end_ SIMCUDA_GUARDED_BY(mutex_) = 0;  // of the file; all holes lie below
  Holes kept_ SIMCUDA_GUARDED_BY(mutex_);      // free, with pages
  Holes empty_ SIMCUDA_GUARDED_BY(mutex_);     // free, without
  size_t kept_bytes_ SIMCUDA_GUARDED_BY(mutex_) = 0;
};

}  // namespace simcuda::memory

#endif  // VRAMSPAN_TOOLS_SIMCUDA_MEMORY_FILE_SPACE_H_
