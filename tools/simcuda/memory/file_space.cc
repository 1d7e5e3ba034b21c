#include "tools/simcuda/memory/file_space.h"

#include <iterator>

#include "tools/simcuda/memory/pages.h"

namespace simcuda::memory {

bool FileSpace::Allocate(size_t size, int* fd, size_t* offset) {
  MutexLock lock(mutex_);
  if (fd_ < 0) fd_ = CreateMemoryFile(label_);
  if (fd_ < 0) return false;
  *fd = fd_;
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    if (hole->second < size) continue;
    *offset = hole->first;
    const size_t left = hole->second - size;
    holes_.erase(hole);
    if (left > 0) holes_.emplace(*offset + size, left);
    return true;
  }
  if (!GrowFile(fd_, end_ + size)) return false;
  *offset = end_;
  end_ += size;
  return true;
}

void FileSpace::Free(size_t offset, size_t size) {
  MutexLock lock(mutex_);
  PunchHole(fd_, offset, size);
  auto next = holes_.lower_bound(offset);
  if (next != holes_.end() && next->first == offset + size) {
    size += next->second;
    next = holes_.erase(next);
  }
  if (next != holes_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += size;
      return;
    }
  }
  holes_.emplace(offset, size);
}

}  // namespace simcuda::memory
